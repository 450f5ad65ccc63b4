// perfuse generate: options, request file and picture text -> calls -> pictures.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <chrono>
#include <csignal>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/dump.h"
#include "apps/cli/generate_options.h"
#include "apps/cli/interruption.h"
#include "apps/cli/metadata.h"
#include "apps/cli/model_folder.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/outputs.h"
#include "apps/cli/progress.h"
#include "apps/cli/report.h"
#include "apps/cli/request_file.h"
#include "apps/cli/standard_streams.h"
#include "perfuse/core/file.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"
#include "perfuse/core/threads.h"
#include "perfuse/image/terminal.h"

namespace perfuse::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  perfuse generate "a red apple on a blue background"       a-red-apple-on-a-blue-background.png
  perfuse generate "a rocket" -o rocket.png --seed 7        the same picture each time
  perfuse generate "a cat face" --num-images 4 -o "cat-{}.png"
  perfuse generate --like rocket.png --steps 30             the same again, but with 30 steps
  perfuse generate --request batch.jsonl --json             a call a line: {"prompt": "a tree", "seed": 3}
  perfuse generate "a star" --dump-tensors star.safetensors --tap transformer.transformer_blocks.0
  echo "a red apple" | perfuse generate - -m models/emoji-pixart -o - > apple.png)";

constexpr int kMostThreads = 1024;
constexpr int kStoppedBySignal = 128;

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// One call of the pipeline and what becomes of its pictures.
struct Call {
  std::string origin;
  Request request;
  CallArguments arguments;
  std::vector<std::int64_t> kept;  // indices of the pictures that are saved
  std::vector<OutputFile> outputs;
};

// The prompt that a file or standard input holds, without the line's end that editors and echo add.
std::string read_prompt(const std::filesystem::path& file) {
  const std::string name = is_standard_input(file) ? "standard input" : display(file);
  std::string text = read_text(file, kMostInputBytes);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark, as some editors write
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty())
    fail(ErrorKind::usage, "{}: empty; expected a prompt (an empty one is given as \"\")", name);
  if (const auto at = find_invalid_utf8(text))
    fail(ErrorKind::usage, "{}: prompt: not valid UTF-8 at byte {} of {}", name, *at, quote(text));
  return text;
}

void settle_prompt(Request& request, const GenerateOptions& options) {
  std::string file = options.prompt_file;
  if (request.prompt && !file.empty())
    fail(ErrorKind::usage, "--prompt-file: there is the prompt {} as well; give one of them",
         quote(request.prompt->values().front()));
  if (request.prompt && request.prompt->values().front() == "-") file = "-";
  if (file.empty()) return;
  if (is_standard_input(file) && is_standard_input(options.request_file))
    fail(ErrorKind::usage, "{} and --request: only one can be read from standard input",
         request.prompt ? "PROMPT" : "--prompt-file");
  request.prompt = read_prompt(file);
}

std::vector<Call> make_calls(const GenerateOptions& options, const std::optional<Record>& record) {
  Request given = options.request;
  settle_prompt(given, options);
  const auto sources = options.request_file.empty() ? std::vector<FileRequest>{{"generate", {}}}
                                                    : read_requests(options.request_file);
  std::vector<Call> calls;
  for (const auto& [origin, request] : sources) {
    Call call{origin, overlay(overlay(record ? record->request : Request{}, request), given), {}, {}, {}};
    check_request(call.request, origin);
    call.arguments = to_arguments(call.request, origin);
    const auto images = count_images(call.arguments, origin);
    if (record && images == record->count)
      call.kept = {record->index};
    else
      for (std::int64_t i = 0; i < images; ++i) call.kept.push_back(i);
    calls.push_back(std::move(call));
  }
  return calls;
}

OutputFiles settle_outputs(std::vector<Call>& calls, const GenerateOptions& options) {
  std::vector<OutputWish> wishes;
  for (const auto& call : calls) {
    if (call.request.output && call.request.output->empty())
      fail(ErrorKind::usage, "{}: --output: expected a file name, found \"\"", call.origin);
    auto& wish = wishes.emplace_back(OutputWish{call.request.output.value_or(""), {}});
    if (const auto& format = call.request.format)
      wish.format = parse_image_format(call.origin + ": format", *format);
    for (const auto index : call.kept) wish.prompts.push_back(prompt_of(call.request, index));
  }
  auto outputs = plan_outputs(wishes);
  std::vector<ReservedFile> reserved;
  if (!options.dump_tensors.empty()) reserved.push_back({"--dump-tensors", options.dump_tensors});
  if (!options.request_file.empty() && !is_standard_input(options.request_file))
    reserved.push_back({"--request", options.request_file});
  if (!options.prompt_file.empty() && !is_standard_input(options.prompt_file))
    reserved.push_back({"--prompt-file", options.prompt_file});
  check_outputs(outputs, reserved);
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].outputs = outputs[i];
  return outputs;
}

void settle_threads(RunOptions& run, bool from_command_line) {
  if (run.threads && (*run.threads < 1 || *run.threads > kMostThreads))
    fail(ErrorKind::usage, "--threads: expected 1 to {}, found {}", kMostThreads, *run.threads);
  // A picture's thread count gives its bytes again, but threads without a core to run on take minutes to do it.
  if (run.threads && !from_command_line && *run.threads > available_cores()) run.threads.reset();
  set_num_threads(run.threads.value_or(0));
  run.threads = num_threads();
}

std::string for_terminal(const Image& image, int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
  // Two rows for the line below and the prompt of the shell.
  return encode_for_terminal(image, detect_terminal_graphics(fd), size.ws_col, size.ws_row - 2);
}

class Generator {
 public:
  Generator(const GenerateOptions& options, std::vector<Call> calls, OutputFiles outputs, RunOptions run)
      : options_(options),
        calls_(std::move(calls)),
        outputs_(std::move(outputs)),
        picture_on_standard_output_(uses_standard_output(outputs_)),
        run_(std::move(run)),
        progress_(options.quiet ? ProgressStyle::none : progress_style_for_standard_error()) {
    log::set_level(options.quiet     ? log::Level::error
                   : options.verbose ? log::Level::debug
                                     : log::Level::info);
    log::set_sink([this](log::Level level, std::string_view message) {
      progress_.print_line(
          fmt::format("perfuse: {}{}", level == log::Level::warning ? "warning: " : "", message));
    });
    if (!options.dump_tensors.empty()) dump_ = std::make_unique<TensorDump>(options.dump_tensors);
  }
  ~Generator() { log::set_sink({}); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  int run() {
    const ModelFolder model = find_model(run_.model.value_or(""));
    const auto load = to_load_options(run_);
    const auto begin = SteadyClock::now();
    const auto pipeline = AutoPipelineForText2Image::from_pretrained(model.folder, load);
    load_seconds_ = seconds_since(begin);
    run_.model = model.recorded;
    run_.device = to_string(pipeline.device());
    run_.dtype = to_string(pipeline.dtype());
    run_.granularity = graph::to_string(load.granularity);
    run_.cfg = to_string(to_cfg_mode(run_));

    std::size_t done = 0;
    try {
      for (auto& call : calls_) {
        if (calls_.size() > 1) progress_.set_prefix(fmt::format("[{}/{}] ", done + 1, calls_.size()));
        draw(pipeline, call);
        ++done;
      }
    } catch (const Error& error) {
      progress_.clear();
      if (error.kind() != ErrorKind::cancelled || interruption_.signal() == 0) throw;
      return stopped(done);
    }
    return 0;
  }

 private:
  void draw(const DiffusionPipeline& pipeline, Call& call) {
    auto& arguments = call.arguments;
    arguments.cfg = to_cfg_mode(run_);
    arguments.stop = interruption_.token();
    arguments.progress = [this](std::string_view stage, int at, int total) {
      progress_.update(stage, at, total);
    };
    arguments.taps = options_.taps;
    if (dump_) arguments.tensors = dump_->sink();

    const auto begin = SteadyClock::now();
    const PipelineOutput output = call_pipeline(pipeline, call);
    const auto computed = SteadyClock::now();
    if (dump_) dump_->write(output, options_.taps);
    Record record{0, static_cast<std::int64_t>(output.images.size()),
                  resolved_request(call.request, output.settings), run_, output.settings};
    std::vector<std::filesystem::path> files;
    for (std::size_t i = 0; i < call.kept.size(); ++i) {
      record.index = call.kept[i];
      const Image& image = output.images.at(static_cast<std::size_t>(record.index));
      files.push_back(save_picture(image, image_text(record), call.outputs[i], outputs_));
    }
    progress_.clear();

    RunReport report{std::move(files),
                     run_,
                     output.times,
                     seconds_since(begin) + load_seconds_,
                     peak_memory(pipeline.device()),
                     pipeline.executables_compiled()};
    report.times.insert(report.times.begin(), {"load", load_seconds_});
    report.times.push_back({"save", seconds_since(computed)});
    load_seconds_ = 0.0;  // the first call's alone
    tell(pipeline, call, report, output);
  }

  PipelineOutput call_pipeline(const DiffusionPipeline& pipeline, const Call& call) const {
    try {
      return pipeline(call.arguments);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      const std::string message = with_option_name(error.what(), options_.request);
      if (message != error.what() || options_.request_file.empty()) throw Error(error.kind(), message);
      throw Error(error.kind(), fmt::format("{}: {}", call.origin, message));
    }
  }

  void tell(const DiffusionPipeline& pipeline, const Call& call, const RunReport& report,
            const PipelineOutput& output) {
    if (options_.json) {
      Json json = report_json(report, output);
      if (options_.explain) json["explain"] = explain_json(pipeline);
      write_result(dump_json(json) + '\n');
    } else if (options_.explain) {
      write_result(explain_text(pipeline, report));
    }
    if (options_.show.value_or(isatty(STDOUT_FILENO) != 0 && !options_.json && !options_.quiet))
      for (const auto index : call.kept)
        write_result(for_terminal(output.images.at(static_cast<std::size_t>(index)),
                                  picture_on_standard_output_ ? STDERR_FILENO : STDOUT_FILENO));
    if (options_.quiet) return;
    progress_.print_line(summary(report, output));
    if (options_.json || picture_on_standard_output_ || isatty(STDOUT_FILENO) != 0) return;
    for (const auto& file : report.files) write_standard_output(file.string() + '\n');
  }

  // What programs and people read when a call is over. A picture on standard output has it for itself.
  void write_result(std::string_view text) const {
    picture_on_standard_output_ ? write_standard_error(text) : write_standard_output(text);
  }

  int stopped(std::size_t done) {
    const int signal = interruption_.signal();
    std::string kept = "nothing was written";
    if (done > 0) kept = fmt::format("the pictures of {} of {} requests are written", done, calls_.size());
    write_standard_error(
        fmt::format("perfuse: stopped by {}; {}\n", signal == SIGINT ? "SIGINT" : "SIGTERM", kept));
    return kStoppedBySignal + signal;
  }

  const GenerateOptions& options_;
  std::vector<Call> calls_;
  OutputFiles outputs_;
  bool picture_on_standard_output_;
  RunOptions run_;
  Progress progress_;
  std::unique_ptr<TensorDump> dump_;
  Interruption interruption_;
  double load_seconds_ = 0.0;
};

int generate(const GenerateOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error with a message, like a full disk
  if (!options.taps.empty() && options.dump_tensors.empty())
    fail(ErrorKind::usage, "--tap: needs --dump-tensors FILE to put the module's output in");
  std::optional<Record> record;
  if (!options.like.empty()) record = read_record(options.like);
  RunOptions run = overlay(record ? record->run : RunOptions{}, options.run);
  (void)to_load_options(run);
  (void)to_cfg_mode(run);
  settle_threads(run, options.run.threads.has_value());

  auto calls = make_calls(options, record);
  if (!options.dump_tensors.empty() && calls.size() > 1)
    fail(ErrorKind::usage, "--dump-tensors: takes one call, {} has {}", options.request_file, calls.size());
  auto outputs = settle_outputs(calls, options);
  return Generator(options, std::move(calls), std::move(outputs), std::move(run)).run();
}

}  // namespace

Command add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = add_command(app, "generate", "Draw pictures from a prompt", kExamples);
  add_generate_options(*command, *options);
  return {command, [options] { return generate(*options); }};
}

}  // namespace perfuse::cli
