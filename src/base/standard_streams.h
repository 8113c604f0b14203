// Standard input, output and error of a program that may have been started without some of them
// (`espalier list >&-`). Otherwise the next descriptor that the program opens takes the number of
// the missing one, and messages for the user would go to a socket.
//
// Thread rule: call from main, before anything is opened.
#pragma once

namespace espalier {

// Opens /dev/null for each of the three that is missing. On failure prints the reason on standard
// error and returns false.
bool OpenMissingStreams();

}  // namespace espalier
