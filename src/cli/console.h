// The two streams of this process and what is known of the terminal behind them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/cli/options.h"
#include "src/cli/progress_view.h"

namespace espalier::cli {

// Thread rule: one thread.
class Console {
 public:
  explicit Console(const Environment& env);

  // A reader that does not read (`| less`) is waited for, but not for long by one who is to end:
  // once `interrupted` is true.
  void SetInterrupted(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

  // Each writes all of it. When it cannot be written any more, out_closed() becomes true and
  // further text goes nowhere; so does what is not read in time while `interrupted`. Either nobody
  // reads (a closed pipe), which may be as it should, or it is lost (a full disk): then standard
  // error says why, and out_lost() is true as well.
  void Out(std::string_view text);
  void Err(std::string_view text);
  // To standard error, each text once.
  void Note(const std::string& text) {
    if (noted_.insert(text).second) Err("note: " + text + "\n");
  }
  bool out_closed() const { return out_.error != 0; }
  bool out_lost() const;
  TextSink OutSink() {
    return [this](std::string_view text) { Out(text); };
  }

  // Whether a line may be drawn again and again on standard output.
  bool live() const { return live_; }
  bool out_color() const { return out_color_; }
  // Whether standard output is a terminal that shows UTF-8.
  bool out_unicode() const { return out_unicode_; }
  bool err_color() const { return err_color_; }
  // Columns of the terminal now; 80 when unknown.
  int Width() const;

 private:
  struct Stream {
    const int fd;
    int error = 0;        // of the write that failed
    bool unread = false;  // the last text was not, in time
  };
  void Write(Stream& stream, std::string_view text) const;
  bool AwaitReader(int fd) const;

  bool live_, out_color_, err_color_, out_unicode_;
  Stream out_, err_;
  std::set<std::string> noted_;
  std::function<bool()> interrupted_ = [] { return false; };
};

}  // namespace espalier::cli
