// Standard input, output and error of a program that may have been started without some of them
// (`espalier list >&-`): the next descriptor that it opens would be in their place, and what is
// written for people would go to a socket.
//
// Thread rule: call from main, before anything is opened.
#pragma once

namespace espalier {

// Opens /dev/null where one of the three is missing. False when that cannot be done, which was said
// on standard error.
bool OpenMissingStreams();

}  // namespace espalier
