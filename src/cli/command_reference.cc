// `espalier reference`: descriptions of the keys of a job file.
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/json.h"
#include "src/config/reference.h"

namespace espalier::cli {
namespace {

Json KeyJson(const config::KeyReference& key) {
  return {{"key", key.path},
          {"type", key.type},
          {"words", key.words},
          {"default", key.value},
          {"by_preset", key.by_preset},
          {"text", key.doc == nullptr ? std::string() : key.doc->text}};
}

}  // namespace

int RunReference(const CommandContext& context) {
  const std::string& key = context.options.key;
  if (key.empty() && !context.options.json) {
    context.console.KeepOutLines();
    context.console.Out(config::ReferenceYaml());
    return kExitSuccess;
  }
  Result<std::vector<config::KeyReference>> keys = config::AllKeys();
  if (!key.empty()) keys = config::KeysBelow(key);
  if (!keys.ok()) return ShowError(context, keys.status(), kExitUsage);
  if (context.options.json) {
    for (const config::KeyReference& known : *keys) {
      context.console.Out(JsonLine(KeyJson(known)));
    }
  } else {
    context.console.Out(config::KeyText(*keys));
  }
  return kExitSuccess;
}

}  // namespace espalier::cli
