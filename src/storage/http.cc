#include "src/storage/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "src/base/check.h"
#include "src/base/mutex.h"
#include "src/storage/http_trust.h"

namespace espalier::storage {
namespace {

constexpr size_t kErrorBytesMax = 64 << 10;
constexpr size_t kIdleHandlesMax = 32;
constexpr long kReceiveBytes = 128 << 10;  // NOLINT: libcurl's type; fits a core's own cache

using Easy = std::unique_ptr<CURL, void (*)(CURL*)>;
using Multi = std::unique_ptr<CURLM, void (*)(CURLM*)>;

void StartLibrary() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  ESPALIER_CHECK(started == CURLE_OK, "libcurl could not start");
}

Easy MakeEasy() {
  StartLibrary();
  return Easy(curl_easy_init(), [](CURL* handle) { curl_easy_cleanup(handle); });
}

Multi MakeMulti() {
  StartLibrary();
  return Multi(curl_multi_init(), [](CURLM* handle) { curl_multi_cleanup(handle); });
}

HttpFailure FailureOf(CURLcode code, CURL* easy) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFailure::kResolve;
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::kConnect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
      return HttpFailure::kTrust;
    case CURLE_OPERATION_TIMEDOUT: {
      curl_off_t connected = 0;
      curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
      return connected > 0 ? HttpFailure::kTimeout : HttpFailure::kConnect;
    }
    case CURLE_UNSUPPORTED_PROTOCOL:  // libcurl also returns it for a reply without a status line
    case CURLE_WEIRD_SERVER_REPLY:
      return HttpFailure::kNotHttp;
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return HttpFailure::kInternal;
    default:
      return HttpFailure::kBroken;
  }
}

// State that the callbacks of one transfer fill.
struct Transfer {
  const HttpOptions* options = nullptr;
  HttpReply reply;
  size_t header_bytes = 0;
  bool head_done = false;
  bool too_long = false;
  bool stop_at_content = false;
  std::string_view upload;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers{nullptr, curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> words = {};  // libcurl's text for a failure
};

std::string_view ValueOf(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return {};
  for (size_t i = 0; i < name.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(line[i])) != name[i]) return {};
  }
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  while (!line.empty() && std::strchr("\r\n \t", line.back()) != nullptr) line.remove_suffix(1);
  return line;
}

size_t OnHeader(char* data, size_t, size_t size, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  transfer->header_bytes += size;
  if (transfer->header_bytes > transfer->options->header_bytes_max) {
    transfer->too_long = true;
    return 0;
  }
  HttpReply& reply = transfer->reply;
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {
    const size_t space = line.find(' ');
    reply.status = 0;
    for (size_t i = space + 1; space != line.npos && i < std::min(line.size(), space + 4); ++i) {
      if (std::isdigit(static_cast<unsigned char>(line[i]))) {
        reply.status = reply.status * 10 + (line[i] - '0');
      }
    }
    reply.location.clear();
    reply.content_type.clear();
    reply.asks_negotiate = false;
  } else if (const auto location = ValueOf(line, "location"); !location.empty()) {
    reply.location = location;
  } else if (const auto type = ValueOf(line, "content-type"); !type.empty()) {
    reply.content_type = type;
  } else if (ValueOf(line, "www-authenticate").starts_with("Negotiate")) {
    reply.asks_negotiate = true;
  } else if (line == "\r\n" || line == "\n") {
    transfer->head_done = reply.status >= 200;
  }
  return size;
}

size_t OnReply(char* data, size_t, size_t size, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  const bool unwanted = transfer->stop_at_content && transfer->reply.status == 200;
  if (unwanted || transfer->reply.body.size() + size > transfer->options->reply_bytes_max) {
    transfer->too_long = true;
    return 0;
  }
  transfer->reply.body.append(data, size);
  return size;
}

size_t OnUpload(char* data, size_t, size_t size, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  const size_t n = std::min(size, transfer->upload.size());
  std::memcpy(data, transfer->upload.data(), n);
  transfer->upload.remove_prefix(n);
  return n;
}

int OnProgress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* transfer = static_cast<const Transfer*>(context);
  return transfer->options->cancelled && transfer->options->cancelled() ? 1 : 0;
}

void AddHeader(const std::string& line, Transfer* transfer) {
  curl_slist* longer = curl_slist_append(transfer->headers.get(), line.c_str());
  if (longer == nullptr) return;
  (void)transfer->headers.release();
  transfer->headers.reset(longer);
}

// Sets the options of every transfer. `easy` may have been used before and keeps its connections.
void Prepare(CURL* easy, const std::string& url, Transfer* transfer) {
  const HttpOptions& options = *transfer->options;
  curl_easy_reset(easy);
  const auto set = [easy](CURLoption option, auto value) {
    (void)curl_easy_setopt(easy, option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  const std::string& authorities = AuthoritiesFile(options.ca_file);
  if (!authorities.empty()) set(CURLOPT_CAINFO, authorities.c_str());
  if (!options.ca_file.empty()) set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  set(CURLOPT_ERRORBUFFER, transfer->words.data());
  set(CURLOPT_PROXY, "");  // ignores the environment
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "espalier");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options.stall_bytes_per_s));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>((options.stall_ms + 999) / 1000));
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(transfer));
}

// Completes the reply with libcurl's information at the end.
void Finish(CURL* easy, CURLcode code, Transfer* transfer) {
  HttpReply& reply = transfer->reply;
  reply.failure = FailureOf(code, easy);
  if (code != CURLE_OK) reply.reason = curl_easy_strerror(code);
  if (reply.failure == HttpFailure::kTrust) {
    const HttpOptions& options = *transfer->options;
    reply.reason = WhyNotTrusted(easy, code, transfer->words.data(), options.ca_file,
                                 options.java_trust_store);
  }
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  if (code == CURLE_ABORTED_BY_CALLBACK) reply.failure = HttpFailure::kCancelled;
  if (transfer->too_long) {
    reply.failure = HttpFailure::kTooLong;
    reply.reason = "headers or reply are longer than what is allowed";
  }
  curl_off_t value = 0;
  curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &value);
  reply.elapsed_ms = value / 1000;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &value);
  reply.sent = value > 0;
  const char* ip = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip);
  if (ip != nullptr) reply.peer_ip = ip;
}

void TakeLength(CURL* easy, HttpReply* reply) {
  curl_off_t length = -1;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length >= 0) reply->content_length = length;
}

HttpReply NoMemory() {
  HttpReply reply;
  reply.failure = HttpFailure::kInternal;
  reply.reason = "libcurl is out of memory";
  return reply;
}

}  // namespace

struct HttpBody::State {
  explicit State(const HttpOptions& given) : options(given) { transfer.options = &options; }
  ~State() {
    if (easy && multi) curl_multi_remove_handle(multi.get(), easy.get());
  }

  static size_t OnBody(char* data, size_t, size_t size, void* context) {
    return static_cast<State*>(context)->Take({data, size});
  }

  size_t Take(std::string_view bytes) {
    const size_t size = bytes.size();
    HttpReply& reply = transfer.reply;
    if (reply.status != 200) {
      reply.body.append(bytes.substr(0, kErrorBytesMax - reply.body.size()));
      return size;
    }
    if (filled == target.size()) {
      paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    const size_t n = std::min(target.size() - filled, size);
    std::memcpy(target.data() + filled, bytes.data(), n);
    filled += n;
    spare.assign(bytes.substr(n));
    spare_used = 0;
    if (!spare.empty()) target = target.first(filled);
    return size;
  }

  // Runs libcurl until `enough` returns true or the transfer is over.
  template <typename Enough>
  void Drive(Enough enough) {
    while (!done && !enough()) {
      int running = 0;
      CURLMcode state = curl_multi_perform(multi.get(), &running);
      CollectEnd();
      if (done || enough()) return;
      if (state == CURLM_OK) {
        state = curl_multi_poll(multi.get(), nullptr, 0, 100, nullptr);
      }
      if (state != CURLM_OK) End(CURLE_OUT_OF_MEMORY);
    }
  }

  void CollectEnd() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg == CURLMSG_DONE) return End(message->data.result);
    }
  }

  void End(CURLcode code) {
    done = true;
    const bool had_head = transfer.head_done;
    Finish(easy.get(), code, &transfer);
    // Excludes the time that the reader took between its reads.
    HttpReply& reply = transfer.reply;
    if (had_head) reply.elapsed_ms = reply.failure == HttpFailure::kTimeout ? options.stall_ms : 0;
  }

  const HttpOptions options;
  Multi multi = MakeMulti();
  Easy easy = MakeEasy();
  Transfer transfer;
  std::span<char> target;  // destination of the body
  size_t filled = 0;
  std::string spare;  // bytes that exceeded the target
  size_t spare_used = 0;
  bool paused = false;
  bool done = false;
};

HttpBody::HttpBody(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpBody::~HttpBody() = default;
const HttpReply& HttpBody::head() const { return state_->transfer.reply; }
const HttpReply& HttpBody::result() const { return state_->transfer.reply; }

size_t HttpBody::Read(std::span<char> out) {
  State& s = *state_;
  const size_t n = std::min(out.size(), s.spare.size() - s.spare_used);
  std::memcpy(out.data(), s.spare.data() + s.spare_used, n);
  s.spare_used += n;
  if (n == out.size()) return n;
  s.target = out.subspan(n);
  s.filled = 0;
  if (s.paused && !s.done) {
    s.paused = false;
    // Delivers at once the bytes that libcurl kept.
    if (curl_easy_pause(s.easy.get(), CURLPAUSE_CONT) != CURLE_OK) s.End(CURLE_RECV_ERROR);
  }
  s.Drive([&s] { return s.filled == s.target.size(); });
  const size_t read = n + s.filled;
  s.target = {};
  s.filled = 0;
  return read;
}

struct HttpClient::Handles {
  // Handles between two calls. Each keeps its connections. The last one returned is used first,
  // because its connections are the most recent.
  Mutex mutex;
  std::vector<Easy> idle GUARDED_BY(mutex);

  Easy Take() {
    MutexLock lock(mutex);
    if (idle.empty()) return MakeEasy();
    Easy easy = std::move(idle.back());
    idle.pop_back();
    return easy;
  }
  void GiveBack(Easy easy) {
    MutexLock lock(mutex);
    if (idle.size() < kIdleHandlesMax) idle.push_back(std::move(easy));
  }
};

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), handles_(std::make_unique<Handles>()) {}
HttpClient::~HttpClient() = default;

HttpReply HttpClient::Call(const HttpRequest& request) const {
  Easy easy = handles_->Take();
  if (!easy) return NoMemory();
  Transfer transfer;
  transfer.options = &options_;
  transfer.upload = request.content;
  transfer.stop_at_content = request.stop_at_content;
  Prepare(easy.get(), request.url, &transfer);
  const auto set = [&easy](CURLoption option, auto value) {
    (void)curl_easy_setopt(easy.get(), option, value);
  };
  set(CURLOPT_WRITEFUNCTION, &OnReply);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  if (!request.authorization.empty()) {
    AddHeader("Authorization: " + request.authorization, &transfer);
  }
  if (request.method == HttpMethod::kPut || request.method == HttpMethod::kPost) {
    set(CURLOPT_UPLOAD, 1L);
    if (request.method == HttpMethod::kPost) set(CURLOPT_CUSTOMREQUEST, "POST");
    set(CURLOPT_READFUNCTION, &OnUpload);
    set(CURLOPT_READDATA, static_cast<void*>(&transfer));
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.content.size()));
    AddHeader(std::string("Content-Type: ") + request.content_type, &transfer);
  }
  set(CURLOPT_HTTPHEADER, transfer.headers.get());
  if (request.method == HttpMethod::kDelete) set(CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request.method != HttpMethod::kGet) set(CURLOPT_FRESH_CONNECT, 1L);
  if (!request.is_upload) set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.reply_ms));
  const CURLcode code = curl_easy_perform(easy.get());
  Finish(easy.get(), code, &transfer);
  TakeLength(easy.get(), &transfer.reply);
  handles_->GiveBack(std::move(easy));
  return std::move(transfer.reply);
}

std::unique_ptr<HttpBody> HttpClient::Get(const std::string& url,
                                          const std::string& authorization) const {
  auto state = std::make_unique<HttpBody::State>(options_);
  HttpBody::State& s = *state;
  if (!s.easy || !s.multi) {
    s.transfer.reply = NoMemory();
    s.done = true;
    return std::unique_ptr<HttpBody>(new HttpBody(std::move(state)));
  }
  Prepare(s.easy.get(), url, &s.transfer);
  if (!authorization.empty()) AddHeader("Authorization: " + authorization, &s.transfer);
  curl_easy_setopt(s.easy.get(), CURLOPT_HTTPHEADER, s.transfer.headers.get());
  curl_easy_setopt(s.easy.get(), CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(s.easy.get(), CURLOPT_WRITEFUNCTION, &HttpBody::State::OnBody);
  curl_easy_setopt(s.easy.get(), CURLOPT_WRITEDATA, state.get());
  if (curl_multi_add_handle(s.multi.get(), s.easy.get()) != CURLM_OK) s.End(CURLE_OUT_OF_MEMORY);
  s.Drive([&s] { return s.transfer.head_done; });
  if (!s.done && s.transfer.reply.status != 200) s.Drive([] { return false; });
  TakeLength(s.easy.get(), &s.transfer.reply);
  return std::unique_ptr<HttpBody>(new HttpBody(std::move(state)));
}

bool HttpClient::Wait(int64_t ms) const {
  const Multi multi = MakeMulti();
  const auto cancelled = [this] { return options_.cancelled && options_.cancelled(); };
  while (ms > 0 && !cancelled()) {
    const int64_t slice = std::min<int64_t>(ms, 100);
    if (!multi ||
        curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(slice), nullptr) != CURLM_OK) {
      break;
    }
    ms -= slice;
  }
  return !cancelled();
}

}  // namespace espalier::storage
