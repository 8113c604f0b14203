// Messages between peers, coordinators, workers and clients.
#include <google/protobuf/stubs/logging.h>

#include <cstring>

#include "proto/espalier/v1/peer.pb.h"
#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/rpc/convert.h"
#include "src/rpc/frame.h"
#include "src/rpc/wire.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"
#include "tests/rpc/messages.h"

namespace espalier::fuzz {
namespace {

constexpr size_t kCrcAt = rpc::kFrameHeaderBytes - sizeof(uint32_t);
constexpr int64_t kPayloadBytesMax = 4096;

// Returns the bytes as a buffer of two slices.
grpc::ByteBuffer Buffer(std::string_view bytes, size_t cut) {
  cut = std::min(cut, bytes.size());
  const grpc::Slice slices[] = {{bytes.data(), cut}, {bytes.data() + cut, bytes.size() - cut}};
  return grpc::ByteBuffer(slices, 2);
}

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  ESPALIER_CHECK(buffer.Dump(&slices).ok(), "a buffer cannot be read");
  std::string out;
  for (const grpc::Slice& s : slices)
    out.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return out;
}

// Decodes a message. Ends the process if an accepted message cannot be encoded and decoded again.
template <typename Proto>
void RunProto(std::string_view bytes) {
  Proto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto message = rpc::FromProto(proto);
  if (!message.ok()) {
    ESPALIER_CHECK(!message.status().message().empty(), "an error without words");
    return;
  }
  Proto again;
  rpc::ToProto(*message, &again);
  const auto back = rpc::FromProto(again);
  ESPALIER_CHECK(back.ok(), Proto::descriptor()->name() + ": " + back.status().ToString());
}

template <typename Proto, typename T>
std::string Seed(char kind, const T& value) {
  Proto proto;
  rpc::ToProto(value, &proto);
  return kind + proto.SerializeAsString();
}

}  // namespace

// Input: a byte that chooses the cut and whether to correct the checksum, then the frame.
void RunFrame(std::string_view bytes) {
  Input input(bytes);
  const uint8_t choice = input.Byte();
  std::string frame(input.Rest());
  if (choice % 8 != 0 && frame.size() >= rpc::kFrameHeaderBytes) {
    const uint32_t crc = Crc32c(frame.data(), kCrcAt);
    std::memcpy(frame.data() + kCrcAt, &crc, sizeof crc);
  }
  const grpc::ByteBuffer buffer = Buffer(frame, choice / 8 * 4);
  const auto message = rpc::FromFrame(buffer, kPayloadBytesMax);
  if (!message.ok()) {
    ESPALIER_CHECK(!message.status().message().empty(), "an error without words");
  } else {
    const auto again = rpc::FromFrame(rpc::ToFrame(*message), kPayloadBytesMax);
    ESPALIER_CHECK(again.ok(), again.status().ToString());
    ESPALIER_CHECK(Bytes(rpc::ToFrame(*again)) == Bytes(rpc::ToFrame(*message)), "another frame");
  }
  grpc::ByteBuffer request = Buffer(frame, choice);
  (void)rpc::ReadMessage<v1::FetchStateRequest>(&request);
}

std::vector<std::string> FrameSeeds() {
  std::vector<std::string> seeds;
  for (int kind = 0; kind < 5; ++kind) {
    collective::ReduceMessage m{{2}, {7}, {3}, 41, static_cast<collective::MessageKind>(kind),
                                1,   2,   3,   {}};
    if (kind > 0)
      m.payload = collective::MakePayload(AlignedVector<float>(static_cast<size_t>(kind), 0.5f));
    seeds.push_back(static_cast<char>(kind * 16 + 1) + Bytes(rpc::ToFrame(m)));
  }
  return seeds;
}

// Input: a byte that chooses the kind of message, then the message.
void RunMessages(std::string_view bytes) {
  google::protobuf::LogSilencer silent;
  Input input(bytes);
  const uint8_t kind = input.Byte();
  const std::string_view rest = input.Rest();
  switch (kind % 6) {
    case 0:
      return RunProto<v1::FromWorker>(rest);
    case 1:
      return RunProto<v1::ToWorker>(rest);
    case 2:
      return RunProto<v1::SubmitRequest>(rest);
    case 3:
      return RunProto<v1::JobUpdate>(rest);
    case 4:
      return RunProto<v1::WorkerSnapshot>(rest);
    default:
      v1::ErrorDetail detail;
      Status error;
      if (!detail.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) return;
      if (rpc::ErrorFromProto(detail, &error).ok()) (void)error.ToString();
  }
}

std::vector<std::string> MessagesSeeds() {
  std::vector<std::string> seeds;
  for (const auto& m : rpc::SamplesFromWorker()) seeds.push_back(Seed<v1::FromWorker>(0, m));
  for (const auto& m : rpc::SamplesToWorker()) seeds.push_back(Seed<v1::ToWorker>(1, m));
  spec::SubmitRequest request{"0.1.0", "id", "name: x", rpc::SampleTokens()};
  seeds.push_back(Seed<v1::SubmitRequest>(2, request));
  seeds.push_back(Seed<v1::JobUpdate>(3, rpc::SampleUpdate()));
  seeds.push_back(Seed<v1::WorkerSnapshot>(4, rpc::SampleWorker()));
  seeds.push_back(Seed<v1::ErrorDetail>(5, rpc::SampleError()));
  return seeds;
}

}  // namespace espalier::fuzz
