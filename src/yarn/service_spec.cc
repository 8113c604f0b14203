#include "src/yarn/service_spec.h"

#include <algorithm>
#include <cctype>

#include "src/base/text.h"
#include "src/storage/bounded_json.h"

namespace espalier::yarn {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMemoryMbMax = 1 << 24, kCoresMax = 1024;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kOwnShare = 4;  // a quarter: at least 256 MiB, at most 4 GiB
constexpr int64_t kOwnMinMb = 256, kOwnMaxMb = 4096;

Status InRange(const std::string& flag, int64_t value, int64_t min, int64_t max,
               const std::string& why = "") {
  if (value >= min && value <= max) return {};
  return InvalidArgument(flag + ": found " + std::to_string(value) + ", expected " +
                         std::to_string(min) + " to " + std::to_string(max) + why);
}

Status Lacks(const std::string& what) {
  return InvalidArgument("the service template has " + what +
                         "; take deploy/yarn/service.json of the tarball as a beginning");
}

Json File(const char* type, const std::string& source, const std::string& name) {
  return {{"type", type}, {"src_file", source}, {"dest_file", name}};
}

// Lists the files of a role: a separate key for each role, and the same authority, Hadoop
// configuration and keytab for all.
Json Files(const YarnPlaces& places, const std::string& role) {
  Json files = Json::array();
  files.push_back(File("ARCHIVE", places.package, "espalier"));
  files.push_back(File("STATIC", places.File("ca.crt"), "ca.crt"));
  files.push_back(File("STATIC", places.File(role + ".crt"), "tls.crt"));
  files.push_back(File("STATIC", places.File(role + ".key"), "tls.key"));
  files.push_back(File("STATIC", places.File("core-site.xml"), "core-site.xml"));
  if (places.hadoop_ca) {
    files.push_back(File("STATIC", places.File(kHadoopCaFile), kHadoopCaFile));
  }
  if (places.keytab) files.push_back(File("STATIC", places.File(kKeytabFile), kKeytabFile));
  return files;
}

Json Environment(const YarnRequest& request, const std::string& role) {
  Json env = {{"ESPALIER_YARN_SERVICE", request.name},
              {"ESPALIER_YARN_ADDRESS", request.places.address()},
              {"ESPALIER_YARN_USER", request.user}};
  if (request.places.hadoop_ca) env["ESPALIER_HADOOP_CA"] = kHadoopCaFile;
  if (request.places.keytab) env["ESPALIER_YARN_KEYTAB"] = kKeytabFile;
  if (role == kCoordinatorComponent) {
    env["ESPALIER_YARN_SHARE_BYTES"] =
        std::to_string(CoordinatorShareBytes(request.coordinator.memory_mb));
    env["ESPALIER_YARN_STATE"] = request.places.state();
    env["ESPALIER_YARN_IDLE_LIMIT_MS"] =
        std::to_string(request.ends_by_itself ? request.idle_limit_ms : 0);
  } else {
    env["ESPALIER_YARN_INSTANCE"] = "${COMPONENT_ID}";
    env["ESPALIER_YARN_THREADS"] = std::to_string(request.worker.cores);
    env["ESPALIER_YARN_ROW_BYTES"] = std::to_string(WorkerRowBytes(request.worker.memory_mb));
  }
  return env;
}

// Fills in one component. Other settings of the template stay.
Status FillComponent(const YarnRequest& request, const std::string& role, Json* component) {
  const bool worker = role == kWorkerComponent;
  const YarnShare& share = worker ? request.worker : request.coordinator;
  Json& c = *component;
  if (storage::JsonText(storage::JsonMember(c, "launch_command")).empty()) {
    return Lacks("no launch_command for the component '" + role + "'");
  }
  c["number_of_containers"] = worker ? request.workers : 1;
  if (!storage::JsonMember(c, "resource").is_object()) c["resource"] = Json::object();
  c["resource"]["cpus"] = share.cores;
  c["resource"]["memory"] = std::to_string(share.memory_mb);
  if (!storage::JsonMember(c, "configuration").is_object()) c["configuration"] = Json::object();
  Json& configuration = c["configuration"];
  for (const char* map : {"env", "properties"}) {
    if (!storage::JsonMember(configuration, map).is_object()) configuration[map] = Json::object();
  }
  configuration["env"].update(Environment(request, role));
  if (!storage::JsonMember(configuration, "files").is_array())
    configuration["files"] = Json::array();
  for (const Json& file : Files(request.places, role)) configuration["files"].push_back(file);
  if (!request.ends_by_itself) return {};
  c["restart_policy"] = "ON_FAILURE";
  // YARN's property for ending the service when this component ends.
  if (!worker) {
    configuration["properties"]["yarn.service.container-state-report-as-service-state"] = "true";
  }
  return {};
}

}  // namespace

Status YarnRequest::Validate() const {
  ESPALIER_RETURN_IF_ERROR(CheckYarnName(name));
  ESPALIER_RETURN_IF_ERROR(InRange("--workers", workers, 0, kYarnWorkersMax));
  ESPALIER_RETURN_IF_ERROR(InRange("--memory", worker.memory_mb, kWorkerMemoryMbMin, kMemoryMbMax,
                                   " MiB: a worker itself takes a part of it, rows the rest"));
  ESPALIER_RETURN_IF_ERROR(InRange("--coordinator-memory", coordinator.memory_mb,
                                   kCoordinatorMemoryMbMin, kMemoryMbMax,
                                   " MiB: a quarter each is for what comes in, what waits for a "
                                   "slow worker, profiles, and the program"));
  ESPALIER_RETURN_IF_ERROR(InRange("--vcores", worker.cores, 1, kCoresMax));
  return InRange("--coordinator-vcores", coordinator.cores, 1, kCoresMax);
}

Status CheckYarnName(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool valid = !name.empty() && name.size() <= kYarnNameBytesMax && letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), [&](char c) {
                       return letter(c) || (c >= '0' && c <= '9') || c == '-';
                     });
  if (valid) return {};
  return InvalidArgument("found the service's name '" + Printable(name) + "', expected at most " +
                         std::to_string(kYarnNameBytesMax) +
                         " lower-case letters, digits and -, a letter first, as YARN wants it");
}

std::string ToYarnName(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = c < 0x80 && std::isalnum(c);
    out += plain ? static_cast<char>(std::tolower(c)) : '-';
  }
  const bool begins = !out.empty() && std::isalpha(static_cast<unsigned char>(out[0]));
  return (begins ? out : "job-" + out).substr(0, kYarnNameBytesMax);
}

int64_t WorkerRowBytes(int64_t container_memory_mb) {
  const int64_t own = std::clamp(container_memory_mb / kOwnShare, kOwnMinMb, kOwnMaxMb);
  return std::max<int64_t>(container_memory_mb - own, 1) * kMib;
}

int64_t CoordinatorShareBytes(int64_t container_memory_mb) {
  return std::min(container_memory_mb / kCoordinatorShares, kCoordinatorShareMaxMb) * kMib;
}

Result<std::string> BuildService(std::string_view template_json, const YarnRequest& request) {
  Json service = storage::ParseJsonObject(template_json);
  if (service.empty()) return Lacks("no JSON object in it");
  service["name"] = request.name;
  if (!request.queue.empty()) service["queue"] = request.queue;
  if (request.places.keytab) {  // for YARN's own master of the service
    service["kerberos_principal"] = {{"principal_name", request.principal},
                                     {"keytab", request.places.File(kKeytabFile)}};
  }
  if (!storage::JsonMember(service, "components").is_array()) return Lacks("no list of components");
  for (const char* role : {kCoordinatorComponent, kWorkerComponent}) {
    Json& components = service["components"];
    const auto found = std::find_if(components.begin(), components.end(), [role](const Json& c) {
      return storage::JsonText(storage::JsonMember(c, "name")) == role;
    });
    if (found == components.end()) return Lacks(std::string("no component '") + role + "'");
    ESPALIER_RETURN_IF_ERROR(FillComponent(request, role, &*found));
  }
  return service.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace espalier::yarn
