// Defaults of the thread sanitizer. It does not see by what gRPC's threads wait for each other, so
// whatever gRPC copies or frees looks to it like a race: tools/tsan.supp hides these, but each
// takes its time, a quarter of a minute a mebibyte. Programs that link gRPC do without what the
// sanitizer records of memcpy, free and their like; the accesses of our own code are checked in
// all.
#ifdef __SANITIZE_THREAD__
extern "C" {
void grpc_init() __attribute__((weak));  // null where gRPC is not linked
const char* __tsan_default_options();
}

const char* __tsan_default_options() {
  return grpc_init == nullptr ? "" : "ignore_interceptors_accesses=1";
}
#endif
