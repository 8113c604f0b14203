// The two output streams of this process and the properties of their terminals.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/mutex.h"
#include "src/cli/options.h"
#include "src/cli/progress_view.h"

namespace espalier::cli {

// Thread rule: one thread, except for LeaveLine.
class Console {
 public:
  explicit Console(const Environment& env);

  // Sets a function that limits waiting. The console waits for a slow reader (`| less`), but only
  // briefly once `interrupted` returns true.
  void SetInterrupted(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

  // Out and Err write all of the text. After a failed write, out_closed() is true and further text
  // is dropped. Text that is not read in time while `interrupted` is true is dropped as well.
  // Either the reader has ended (a closed pipe), which may be intended, or text is lost (a full
  // disk). In the second case standard error shows the reason, and out_lost() is also true.
  // On a terminal, lines that are too long are wrapped between words. A text with '\r' is not.
  void Out(std::string_view text);
  void Err(std::string_view text);
  // Writes the last text to standard output. Waits again for a reader that was slow before.
  void LastOut(std::string_view text);
  // Writes a note to standard error, each text once.
  void Note(const std::string& text) {
    if (noted_.insert(text).second) Err("note: " + text + "\n");
  }
  // Call before writing JSON, YAML or logs to standard output. Their lines are not wrapped.
  void KeepOutLines() { out_.wraps = false; }
  // Ends the line that is redrawn, for a process that is about to end. Later text is dropped. Safe
  // from any thread.
  void LeaveLine();
  bool out_closed() const { return out_.error != 0; }
  bool out_lost() const;
  TextSink OutSink() {
    return [this](std::string_view text) { Out(text); };
  }

  // Returns whether standard output supports a line that is redrawn.
  bool live() const { return live_; }
  bool out_color() const { return out_color_; }
  // Returns whether standard output is a terminal with UTF-8.
  bool out_unicode() const { return out_unicode_; }
  bool err_color() const { return err_color_; }
  // Returns the current columns of the terminal of standard output; 80 if unknown.
  int Width() const { return WidthOf(out_.fd); }

 private:
  struct Stream {
    const int fd;
    bool wraps;           // a terminal that shows text for people
    int error = 0;        // errno of the failed write
    bool unread = false;  // the last text was not read in time
    bool cut = false;     // only a part of that text was written
  };
  void Write(Stream& stream, std::string_view text);
  void WriteWhole(Stream& stream, std::string_view text);
  int WidthOf(int fd) const;
  bool AwaitReader(int fd) const;

  const int columns_;  // COLUMNS
  bool live_, out_color_, err_color_, out_unicode_;
  Stream out_, err_;
  std::set<std::string> noted_;
  Mutex writing_;  // held during each write(2)
  std::atomic<bool> left_ = false;
  std::function<bool()> interrupted_ = [] { return false; };
};

}  // namespace espalier::cli
