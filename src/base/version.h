// The version of this build. Clients, coordinators and workers of different versions refuse each
// other, with an error that names both versions.
#pragma once

namespace espalier {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace espalier
