// A keytab from MIT's ktutil, with two keys of ann/yarn@EXAMPLE.COM and one of bob@EXAMPLE.COM. The
// passwords are not in use.
#pragma once

#include <string>

#include "src/base/base64.h"

namespace espalier::storage {

inline std::string SampleKeytab() {
  return *FromBase64(
      "BQIAAAA7AAIAC0VYQU1QTEUuQ09NAANhbm4ABHlhcm4AAAABawPcggEAEQAQ9ZwQNzW9xNRZCiot8O1IQQAAAAEAAABL"
      "AAIAC0VYQU1QTEUuQ09NAANhbm4ABHlhcm4AAAABawPcggEAEgAgI3GmOaAR+IRcy2qMKLGws/81xj8dUc0l9NGpK0lz"
      "YokAAAABAAAANQABAAtFWEFNUExFLkNPTQADYm9iAAAAAWsD3IIDABEAEOJfnvNPtUVjgP9AYXe5EOgAAAAD");
}

}  // namespace espalier::storage
