#include "src/coordinator/flags.h"

#include <CLI/CLI.hpp>

#include "src/base/build_info.h"
#include "src/config/command_line.h"
#include "src/config/daemon_flags.h"

namespace espalier::coordinator {

Result<CoordinatorFlags> ParseCoordinatorFlags(int argc, const char* const* argv) {
  CoordinatorFlags flags;
  config::DaemonFlags given;
  CLI::App app("espalier-coordinator: brings workers together and runs jobs on them",
               "espalier-coordinator");
  app.set_version_flag("--version", VersionText("espalier-coordinator", ""));
  config::AddDaemonFlags<config::CoordinatorOptions>(app, given);
  app.add_option("--ready-fd", flags.ready_fd,
                 "Descriptor to which the address is written once the coordinator listens");
  app.add_flag("--exit-with-parent", flags.exit_with_parent, "Exit when the parent process exits");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    flags.answer = app.help();
    return flags;
  } catch (const CLI::CallForVersion&) {
    flags.answer = app.version();
    return flags;
  } catch (const CLI::Error& error) {
    return config::CommandLineError(app, error);
  }
  ESPALIER_ASSIGN_OR_RETURN(flags.options, config::OptionsFrom<config::CoordinatorOptions>(given));
  flags.notes = given.notes;
  ESPALIER_RETURN_IF_ERROR(flags.options.Validate());
  if (given.print_config) flags.answer = config::ConfigurationText(flags.options);
  return flags;
}

}  // namespace espalier::coordinator
