// run_window(): a GLFW window around AppFrame. It waits for events while nothing moves.
#include "app/window.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include <epoxy/gl.h>
#include <fmt/format.h>
#include <imgui_impl_glfw.h>
// After libepoxy, which brings the GL declarations.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "app/model/lessons/glossary.h"
#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/mask_tables.h"
#include "app/model/state/state_file.h"
#include "app/next_picture.h"
#include "app/platform/child_process.h"
#include "app/platform/display_loss.h"
#include "app/platform/files.h"
#include "app/platform/opengl_name.h"
#include "app/platform/quiet_libraries.h"
#include "app/ui/language.h"
#include "app/ui/settings.h"
#include "app/views/app_frame.h"
#include "app/views/lecture/small_picture.h"

namespace tilescope {

namespace {

constexpr int exit_machine_lacks = 3;

int fail(const std::string& sentence) {
  std::fprintf(stderr, "tilescope: %s\n", sentence.c_str());
  return exit_machine_lacks;
}

/// Initialises and terminates GLFW.
struct Glfw {
  bool good = false;
  std::string why;
  Glfw() {
    glfwSetErrorCallback(nullptr);
    good = glfwInit() == GLFW_TRUE;
    const char* words = nullptr;
    if (!good && glfwGetError(&words) != GLFW_NO_ERROR && words != nullptr) why = words;
  }
  Glfw(const Glfw&) = delete;
  Glfw& operator=(const Glfw&) = delete;
  ~Glfw() {
    if (good) glfwTerminate();
  }
};

struct WindowDeleter {
  void operator()(GLFWwindow* window) const { glfwDestroyWindow(window); }
};
using WindowHandle = std::unique_ptr<GLFWwindow, WindowDeleter>;

/// Limits the window to the size of the display.
void fit_display(GLFWwindow* window) {
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  if (monitor == nullptr) return;
  int x = 0, y = 0, most_width = 0, most_height = 0, width = 0, height = 0;
  glfwGetMonitorWorkarea(monitor, &x, &y, &most_width, &most_height);
  glfwGetWindowSize(window, &width, &height);
  if (most_width < 1 || most_height < 1 || (width <= most_width && height <= most_height)) return;
  glfwSetWindowSize(window, std::min(width, most_width), std::min(height, most_height));
}

/// Names the display's OpenGL; empty if there is none.
std::string opengl_there_is() {
  glfwDefaultWindowHints();
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  const WindowHandle window(glfwCreateWindow(16, 16, "TileScope", nullptr, nullptr));
  if (window == nullptr) return {};
  glfwMakeContextCurrent(window.get());
  std::string name = opengl_name();
  glfwMakeContextCurrent(nullptr);
  return name;
}

Result<WindowHandle> open_window(int width, int height) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);  // shown after its first frame
  WindowHandle window(glfwCreateWindow(width, height, "TileScope", nullptr, nullptr));
  if (window != nullptr) {
    fit_display(window.get());
    return window;
  }
  const char* words = nullptr;
  glfwGetError(&words);
  const std::string reason = words != nullptr ? words : "no reason given", found = opengl_there_is();
  return Error{fmt::format("the window needs OpenGL 3.3, and this display gives {}: update the graphics driver, or draw "
                           "without a display by 'tilescope render'",
                           found.empty() ? fmt::format("none ({})", reason) : found),
               Error::Kind::machine_lacks};
}

/// State of GLFW's callbacks, in the window's user pointer.
struct Shell {
  GLFWwindow* window = nullptr;
  AppFrame* frame = nullptr;
  Session* session = nullptr;
  Settings settings;
  Settings began;                 // as this run began, with its options
  float user_scale = 1;           // from the command line or the settings
  std::array<int, 4> windowed{};  // position and size before full screen
  bool full_screen = false;
  bool offers_lessons = false;  // at the start
  std::array<GLFWcursor*, ImGuiMouseCursor_COUNT> cursors{};
  bool follows = false;  // the presenter's window
};

Shell& shell_of(GLFWwindow* window) {
  return *static_cast<Shell*>(glfwGetWindowUserPointer(window));
}

/// Returns pixels per window-system point: 1 on X11, 2 on many Wayland displays.
float pixel_ratio(GLFWwindow* window) {
  int window_width = 0, window_height = 0, width = 0, height = 0;
  glfwGetWindowSize(window, &window_width, &window_height);
  glfwGetFramebufferSize(window, &width, &height);
  return window_width > 0 && width > 0 ? static_cast<float>(width) / static_cast<float>(window_width) : 1;
}

void update_scale(const Shell& shell) {
  float x = 1, y = 1;
  glfwGetWindowContentScale(shell.window, &x, &y);
  shell.frame->set_scale(std::max(0.5F, x), shell.user_scale);
}

/// Builds, draws and shows one frame.
void show_frame(const Shell& shell, double seconds) {
  glfwMakeContextCurrent(shell.window);  // there may be the presenter's, too
  int width = 0, height = 0;
  glfwGetFramebufferSize(shell.window, &width, &height);
  if (width < 1 || height < 1) return;  // minimised
  glfwSwapInterval(shell.follows ? 0 : 1);
  shell.frame->build(width, height, seconds);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glViewport(0, 0, width, height);
  shell.frame->draw();
  glfwSwapBuffers(shell.window);
}

// ImGui's GLFW back end translates events. These callbacks wake the frame and convert positions to pixels, the unit of the layout.
void install_callbacks(GLFWwindow* window) {
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int code, int action, int mods) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_KeyCallback(w, key, code, action, mods);
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned int c) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_CharCallback(w, c);
  });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int mods) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_MouseButtonCallback(w, button, action, mods);
  });
  glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_ScrollCallback(w, x, y);
  });
  glfwSetCursorPosCallback(window, [](GLFWwindow* w, double x, double y) {
    shell_of(w).frame->io();
    const auto ratio = static_cast<double>(pixel_ratio(w));
    ImGui_ImplGlfw_CursorPosCallback(w, x * ratio, y * ratio);
  });
  glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int entered) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_CursorEnterCallback(w, entered);
  });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int focused) {
    shell_of(w).frame->io();
    ImGui_ImplGlfw_WindowFocusCallback(w, focused);
  });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    shell_of(w).frame->io();
    for (int i = 0; i < count; ++i)
      if (std::string_view(paths[i]).ends_with(".csv")) shell_of(w).session->apply(ImportCounters{paths[i]});
  });
  glfwSetWindowContentScaleCallback(window, [](GLFWwindow* w, float, float) {
    update_scale(shell_of(w));
    shell_of(w).frame->io();
  });
  // Some systems block event handling while the window is resized, so it draws here.
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) {
    shell_of(w).frame->io();
    show_frame(shell_of(w), 0);
  });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { show_frame(shell_of(w), 0); });
}

/// Returns the display that shows most of a window; the first one where none does.
GLFWmonitor* display_of(GLFWwindow* window) {
  int count = 0, x = 0, y = 0, width = 0, height = 0;
  GLFWmonitor** monitors = glfwGetMonitors(&count);
  glfwGetWindowPos(window, &x, &y);
  glfwGetWindowSize(window, &width, &height);
  GLFWmonitor* best = glfwGetPrimaryMonitor();
  std::int64_t most = 0;
  for (int i = 0; i < count; ++i) {
    const GLFWvidmode* mode = glfwGetVideoMode(monitors[i]);
    int left = 0, top = 0;
    glfwGetMonitorPos(monitors[i], &left, &top);
    if (mode == nullptr) continue;
    const std::int64_t across = std::min(x + width, left + mode->width) - std::max(x, left);
    const std::int64_t down = std::min(y + height, top + mode->height) - std::max(y, top);
    if (across <= 0 || down <= 0 || across * down <= most) continue;
    most = across * down;
    best = monitors[i];
  }
  return best;
}

/// Returns a display that is not `taken`, the first one before others; null where there is none.
GLFWmonitor* other_display(GLFWmonitor* taken) {
  int count = 0;
  GLFWmonitor** monitors = glfwGetMonitors(&count);
  const auto other = std::find_if(monitors, monitors + count, [&](GLFWmonitor* each) { return each != taken; });
  return other == monitors + count ? nullptr : *other;
}

/// Presents full screen on the window's display; where the window `notes` is on that one, on another: a class does not see notes.
void follow_present(Shell& shell, GLFWwindow* notes) {
  const bool wanted = shell.session->view().workspace->present;
  if (wanted == shell.full_screen) return;
  shell.full_screen = wanted;
  GLFWmonitor* monitor = display_of(shell.window);
  if (notes != nullptr && display_of(notes) == monitor)
    if (GLFWmonitor* other = other_display(monitor); other != nullptr) monitor = other;
  const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
  auto& [x, y, width, height] = shell.windowed;
  if (wanted && mode != nullptr) {
    glfwGetWindowPos(shell.window, &x, &y);
    glfwGetWindowSize(shell.window, &width, &height);
    if (monitor != display_of(shell.window)) {  // many a window manager fills the display that the window is on
      int left = 0, top = 0;
      glfwGetMonitorPos(monitor, &left, &top);
      glfwSetWindowPos(shell.window, left, top);
    }
    glfwSetWindowMonitor(shell.window, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
  } else if (width > 0) {
    glfwSetWindowMonitor(shell.window, nullptr, x, y, width, height, GLFW_DONT_CARE);
  }
}

void follow_text_scale(Shell& shell) {
  const float change = shell.frame->take_text_scale_change();
  if (change == 1) return;
  shell.user_scale = change == 0 ? 1 : std::clamp(shell.user_scale * change, 0.5F, 4.0F);
  update_scale(shell);
}

void follow_cursor(Shell& shell) {
  constexpr std::array<std::pair<ImGuiMouseCursor, int>, 5> shapes = {{{ImGuiMouseCursor_Arrow, GLFW_ARROW_CURSOR},
                                                                       {ImGuiMouseCursor_TextInput, GLFW_IBEAM_CURSOR},
                                                                       {ImGuiMouseCursor_ResizeNS, GLFW_VRESIZE_CURSOR},
                                                                       {ImGuiMouseCursor_ResizeEW, GLFW_HRESIZE_CURSOR},
                                                                       {ImGuiMouseCursor_Hand, GLFW_HAND_CURSOR}}};
  const ImGuiMouseCursor wanted = ImGui::GetMouseCursor();
  for (const auto& [cursor, shape] : shapes) {
    if (cursor != wanted) continue;
    GLFWcursor*& made = shell.cursors[static_cast<std::size_t>(cursor)];
    if (made == nullptr) made = glfwCreateStandardCursor(shape);
    glfwSetCursor(shell.window, made);
    return;
  }
  glfwSetCursor(shell.window, nullptr);
}

/// The presenter's own window: notes, next scene, time. It has its own OpenGL context and its own ImGui.
class PresenterWindow {
 public:
  PresenterWindow(Session& session, GLFWwindow* main) : session_(session), main_(main) {}
  PresenterWindow(const PresenterWindow&) = delete;
  PresenterWindow& operator=(const PresenterWindow&) = delete;
  ~PresenterWindow() { close(); }

  GLFWwindow* window() const { return window_.get(); }  // null while it is closed

  /// Opens, draws or closes it, as the session wants; the main window's context is current again afterwards. `shown` is the frame
  /// of the main window, as it was drawn last.
  void follow(AppFrame& shown) {
    const bool wanted = session_.view().lecture->presenter;
    if (wanted && shell_.window == nullptr && !open()) session_.apply(ShowPresenter{false});
    if (!wanted) close();
    if (shell_.window == nullptr) return;
    if (glfwWindowShouldClose(shell_.window) == GLFW_TRUE) {
      session_.apply(ShowPresenter{false});
      return close();
    }
    const std::optional<Picture> picture = picture_of(shown);
    glfwMakeContextCurrent(shell_.window);
    frame_->io();
    if (picture) class_picture().take(*picture);
    if (next_.follow(session_.view())) next_.picture() ? next_picture().take(*next_.picture()) : next_picture().clear();
    ImGui_ImplGlfw_NewFrame();
    show_frame(shell_, 0.02);
    glfwMakeContextCurrent(main_);
  }

 private:
  bool open() {
    constexpr int usual_width = 960, usual_height = 640;
    Result<WindowHandle> made = open_window(usual_width, usual_height);
    if (!made) return false;
    window_ = std::move(*made);
    place(window_.get());
    glfwMakeContextCurrent(window_.get());
    AppFrame::Options options;
    options.panel = "presenter";
    options.follows = true;
    Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(session_, options);
    if (!frame) {
      window_.reset();
      glfwMakeContextCurrent(main_);
      return false;
    }
    frame_ = std::move(*frame);
    shell_.window = window_.get();
    shell_.frame = frame_.get();
    shell_.session = &session_;
    shell_.follows = true;
    glfwSetWindowTitle(window_.get(), "TileScope presenter");
    glfwSetWindowUserPointer(window_.get(), &shell_);
    ImGui_ImplGlfw_InitForOpenGL(window_.get(), false);
    install_callbacks(window_.get());
    update_scale(shell_);
    glfwShowWindow(window_.get());
    return true;
  }

  /// What the class sees now, a few times a second.
  std::optional<Picture> picture_of(AppFrame& shown) {
    constexpr auto apart = std::chrono::milliseconds(250);
    const auto now = std::chrono::steady_clock::now();
    if (now - pictured_at_ < apart) return std::nullopt;
    pictured_at_ = now;
    glfwMakeContextCurrent(main_);  // open() leaves that of the presenter
    const Result<Picture> picture = shown.draw_picture();
    return picture ? std::optional(*picture) : std::nullopt;
  }

  /// On a display that the audience does not see: the first one, the lecturer's own, or another than what is presented on.
  void place(GLFWwindow* window) const {
    GLFWmonitor* const shown = display_of(main_);
    GLFWmonitor* const other = other_display(shown);
    if (other == nullptr) return;
    GLFWmonitor* const own = session_.view().workspace->present ? other : glfwGetPrimaryMonitor();
    int x = 0, y = 0;
    glfwGetMonitorPos(own, &x, &y);
    constexpr int inset = 40;
    glfwSetWindowPos(window, x + inset, y + inset);
  }

  void close() {
    if (shell_.window == nullptr) return;
    glfwMakeContextCurrent(window_.get());
    frame_->io();
    ImGui_ImplGlfw_Shutdown();
    frame_.reset();
    window_.reset();
    shell_.window = nullptr;
    glfwMakeContextCurrent(main_);
  }

  Session& session_;
  GLFWwindow* main_;
  WindowHandle window_;
  std::unique_ptr<AppFrame> frame_;
  Shell shell_;
  NextPicture next_;
  std::chrono::steady_clock::time_point pictured_at_;
};

/// Saves what is shown now and then, where it may have changed.
class StateSaver {
 public:
  StateSaver(Session& session, StateKeeper keeper) : session_(session), keeper_(std::move(keeper)) {}

  std::shared_ptr<const WindowState> left_over() const {
    return keeper_.left_over() ? std::make_shared<const WindowState>(*keeper_.left_over()) : nullptr;
  }
  void follow() {
    constexpr auto apart = std::chrono::seconds(3);
    const auto now = std::chrono::steady_clock::now();
    const SessionView view = session_.view();
    if (now - saved_at_ < apart || view.revision == saved_ || view.lanes.empty() || view.playback.playing) return;
    saved_at_ = now;
    saved_ = view.revision;
    keeper_.save(window_state_of(view), false);
    keep_scenes();
  }
  void close() {
    if (const SessionView view = session_.view(); !view.lanes.empty()) keeper_.save(window_state_of(view), true);
    if (const std::string kept = keep_scenes(); !kept.empty())
      std::fprintf(stderr, "tilescope: the deck was not saved; its scenes are in %s\n", kept.c_str());
  }

 private:
  /// Writes scenes that no file has beside the state; where to, or nothing.
  std::string keep_scenes() {
    const Lecture& lecture = *session_.view().lecture;
    const auto state = state_file_path();
    if (!state || !lecture.changed()) return {};
    const std::filesystem::path path = state->parent_path() / "unsaved-deck.toml";
    return write_file(path, format_deck(lecture.deck())) ? path.native() : std::string();
  }

  Session& session_;
  StateKeeper keeper_;
  std::chrono::steady_clock::time_point saved_at_;
  std::uint64_t saved_ = 0;
};

/// Minimum seconds per frame. On a virtual display swapping does not wait, and a core would spin.
double least_frame_seconds() {
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
  const int rate = mode != nullptr && mode->refreshRate > 0 ? mode->refreshRate : 60;
  return 0.9 / rate;
}

/// Closes the window on Ctrl+C or the end of the session like its close button, so that settings are saved.
volatile std::sig_atomic_t asked_to_end = 0;

void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { asked_to_end = 1; });
}

void run_loop(Shell& shell, StateSaver& saver, std::optional<QuietLibraries>& quiet) {
  using Clock = std::chrono::steady_clock;
  const double least_seconds = least_frame_seconds();
  constexpr double blink_seconds = 0.25, signal_seconds = 0.5;  // longest waits between checks
  auto last = Clock::now();
  bool shown = false;
  PresenterWindow presenter(*shell.session, shell.window);
  while (glfwWindowShouldClose(shell.window) == GLFW_FALSE && asked_to_end == 0) {
    if (shown && !shell.frame->wants_frame()) {
      // The worker posts an empty event when it has a result.
      glfwWaitEventsTimeout(shell.frame->typing() ? blink_seconds : signal_seconds);
      last = Clock::now();  // waiting is not animation time
    } else {
      const double early = least_seconds - std::chrono::duration<double>(Clock::now() - last).count();
      early > 0 ? glfwWaitEventsTimeout(early) : glfwPollEvents();
    }
    const auto now = Clock::now();
    const double seconds = std::min(0.1, std::chrono::duration<double>(now - last).count());
    last = now;
    shell.frame->select();
    ImGui_ImplGlfw_NewFrame();
    show_frame(shell, seconds);
    if (!shown) {
      glfwShowWindow(shell.window);
      shown = true;
      quiet.reset();
    }
    follow_cursor(shell);
    follow_present(shell, presenter.window());
    follow_text_scale(shell);
    presenter.follow(*shell.frame);
    shell.frame->select();
    saver.follow();
    while (glfwGetWindowAttrib(shell.window, GLFW_ICONIFIED) == GLFW_TRUE && asked_to_end == 0)
      glfwWaitEventsTimeout(signal_seconds);
  }
}

/// `size` asks the display.
void remember(const Shell& shell, bool size = true) {
  Settings settings = shell.settings;
  settings.shares = shell.frame->shares();
  settings.theme = shell.session->view().workspace->theme;
  settings.language = shell.session->view().workspace->language;
  settings.by_sm = shell.session->view().workspace->by_sm;
  settings.text_scale = shell.user_scale;
  const LessonView lesson = shell.session->view().lesson;
  settings.lessons_done.assign(lesson.done->begin(), lesson.done->end());
  settings.lessons_right.clear();
  for (const auto& [id, score] : *lesson.scores) settings.lessons_right[id] = {score.right, score.questions};
  settings.lessons_offered = settings.lessons_offered || (shell.offers_lessons && !lesson.offered);
  if (size && !shell.full_screen) {
    float x = 1, y = 1;
    glfwGetWindowContentScale(shell.window, &x, &y);
    int width = 0, height = 0;
    glfwGetFramebufferSize(shell.window, &width, &height);
    if (width > 0 && height > 0) {
      settings.width = static_cast<int>(std::lround(static_cast<float>(width) / x));
      settings.height = static_cast<int>(std::lround(static_cast<float>(height) / y));
    }
  }
  settings = to_remember(shell.settings, shell.began, std::move(settings));
  if (settings != shell.settings) save_settings(settings);
}

const Shell* open_shell = nullptr;  // for the end of the display, which comes without a pointer

/// Whether the window opens for the first time.
bool first_start() {
  const auto path = settings_path();
  std::error_code code;
  return path && !std::filesystem::exists(*path, code);
}

Session::Start start_of(const WindowOptions& options, const Settings& settings) {
  Session::Start start;
  start.request = options.request;
  start.inputs = options.inputs;
  start.gpu_source = options.gpu;
  start.step = options.step;
  start.race = options.race;
  start.center = options.center;
  start.counters = options.ncu;
  start.by_sm = options.by_sm.value_or(settings.by_sm);
  start.theme = options.theme.value_or(settings.theme);
  start.language = options.language.value_or(settings.language);
  start.gpu_ids = gpu_ids();
  for (std::string& path : own_gpus()) start.gpu_ids.push_back(std::move(path));
  if (const auto folder = own_gpu_folder()) start.own_gpus = folder->native();
  start.calibrator = [](const CalibrationProgress& told) { return calibrate_this_machine({}, told); };
  start.glossary = std::make_shared<const Glossary>(load_glossary());
  start.load_gpu = &load_gpu;
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  start.load_table = &load_table;
  start.measurements = load_measurements();
  start.save_text = [](const std::string& path, const std::string& text) { return write_file(path, text); };
  start.clock = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  start.time_of_day = [] {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    return localtime_r(&now, &local) != nullptr ? fmt::format("{:02}:{:02}", local.tm_hour, local.tm_min) : std::string();
  };
  start.deck = options.deck;
  start.deck_path = options.deck_path;
  start.scene = options.scene;
  if (options.state != nullptr) {
    WindowState state = *options.state;
    if (options.deck != nullptr) {  // the room's, and not the scene's
      state.theme = start.theme;
      state.language = start.language;
    }
    start.theme = state.theme;
    start.language = state.language;
    start.state = std::make_shared<const WindowState>(std::move(state));
  }
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  start.lessons_done = {settings.lessons_done.begin(), settings.lessons_done.end()};
  for (const auto& [id, score] : settings.lessons_right) start.lesson_scores[id] = {score.right, score.questions};
  start.offer_lessons = options.lesson.empty() && options.deck == nullptr && !settings.lessons_offered && first_start();
  start.wake = [] { glfwPostEmptyEvent(); };
  start.program = this_program();
  return start;
}

}  // namespace

int run_window(const WindowOptions& options) {
  const LoadedSettings loaded = load_settings();
  const Settings& settings = loaded.settings;
  std::optional<QuietLibraries> quiet(std::in_place);
  const auto give_up = [&quiet](const std::string& sentence) {
    quiet.reset();
    return fail(sentence);
  };
  const Glfw glfw;
  if (!glfw.good)
    return give_up(
        fmt::format("there is no display to open a window on ({}): use 'tilescope render --out picture.png' to draw without one",
                    glfw.why.empty() ? "no reason given" : glfw.why));
  end_on_signals();  // before there is a window that somebody could want to end
  Result<WindowHandle> window = open_window(options.width.value_or(settings.width), options.height.value_or(settings.height));
  if (!window) return give_up(window.error().sentence);
  glfwMakeContextCurrent(window->get());

  StateKeeper keeper = StateKeeper::open(state_file_path(), static_cast<std::int64_t>(::getpid()));
  for (const Sentence& said : {keeper.notice(), loaded.problem})
    if (!said.empty()) std::fprintf(stderr, "tilescope: %s\n", said.text().c_str());
  Session::Start start = start_of(options, settings);
  start.notice = keeper.notice().empty() ? loaded.problem : keeper.notice();
  Session session(std::move(start));
  StateSaver saver(session, std::move(keeper));
  if (const auto at = lesson_at(options.lesson)) session.apply(OpenLesson{at->id, at->page});
  AppFrame::Options frame_options;
  frame_options.shares = settings.shares;
  frame_options.languages = available_languages();
  frame_options.say_missing_fonts = true;
  // Who asks for a state of their own needs no other.
  if (options.state == nullptr && options.deck == nullptr) frame_options.left_over = saver.left_over();
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(session, frame_options);
  if (!frame) return give_up(frame.error().sentence);

  Shell shell;
  shell.window = window->get();
  shell.frame = frame->get();
  shell.session = &session;
  shell.settings = shell.began = settings;
  shell.began.theme = session.view().workspace->theme;
  shell.began.language = session.view().workspace->language;
  shell.began.by_sm = session.view().workspace->by_sm;
  shell.began.text_scale = options.scale.value_or(settings.text_scale);
  shell.began.width = options.width.value_or(settings.width);
  shell.began.height = options.height.value_or(settings.height);
  shell.offers_lessons = session.view().lesson.offered;
  shell.user_scale = options.scale.value_or(settings.text_scale);
  glfwSetWindowUserPointer(window->get(), &shell);
  glfwSetWindowSizeLimits(window->get(), 640, 400, GLFW_DONT_CARE, GLFW_DONT_CARE);
  ImGui_ImplGlfw_InitForOpenGL(window->get(), false);
  install_callbacks(window->get());
  update_scale(shell);
  open_shell = &shell;
  end_with_display([] { remember(*open_shell, false); });
  run_loop(shell, saver, quiet);
  (*frame)->select();  // a presenter's window that was still open had its own
  quiet.reset();
  if (const std::string notice = (*frame)->fonts().notice(); !notice.empty())
    std::fprintf(stderr, "tilescope: %s\n", notice.c_str());
  remember(shell);
  saver.close();
  glfwHideWindow(window->get());
  constexpr auto longest_wait = std::chrono::seconds(1);
  if (!session.end_within(longest_wait)) {  // a GPU may never answer, and its thread cannot be ended alone
    std::fflush(nullptr);
    std::_Exit(0);
  }
  ImGui_ImplGlfw_Shutdown();
  return 0;
}

}  // namespace tilescope
