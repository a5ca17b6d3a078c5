// The page is text of this file: style, steps, script. Nothing in it is fetched.
#include "app/step_page.h"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "app/model/session/lane.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/caption.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

constexpr std::string_view style = R"(
:root{color-scheme:dark;--ground:#0f141b;--panel:#171e28;--text:#e6edf3;--dim:#9aa7b5;--edge:#2b3644;--accent:#4c8dff}
:root[data-theme=light]{color-scheme:light;--ground:#eef1f5;--panel:#fff;--text:#17202b;--dim:#51606f;--edge:#ccd4dd;--accent:#1f5fd0}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 Inter,system-ui,sans-serif}
header,nav,.step{max-width:1640px;margin:0 auto;padding:8px 20px}
h1{font-size:20px;margin:8px 0 0}h2{font-size:17px;margin:0}p{margin:2px 0}.dim{color:var(--dim)}
nav{position:sticky;top:0;display:none;gap:8px;align-items:center;background:var(--ground);z-index:1}
.live nav{display:flex}
button{font:inherit;min-width:44px;padding:6px 12px;border:1px solid var(--edge);border-radius:8px;background:var(--panel);color:var(--text)}
button:focus-visible,input:focus-visible{outline:3px solid var(--accent);outline-offset:1px}
button:disabled{opacity:.4}input{flex:1;accent-color:var(--accent)}
.live .step{display:none}.live .step.shown{display:block}
.picture svg,.picture img{display:block;width:100%;height:auto;border-radius:8px}
.text{display:flex;flex-wrap:wrap;gap:8px 48px;justify-content:space-between;padding:10px 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th{font-weight:400;text-align:left;color:var(--dim);padding:0 16px 0 0}td{text-align:right;padding:0 0 0 16px;font-family:"JetBrains Mono",monospace}
thead th{text-align:right;padding:0 0 0 16px}
.page{display:grid;grid-template-columns:minmax(280px,400px) 1fr;gap:8px 28px;align-items:start}
@media(max-width:900px){.page{grid-template-columns:1fr}}
.live .step.page{display:none}.live .step.page.shown{display:grid}
.page p{margin:8px 0}.page h2{margin-bottom:8px}.page li{margin:4px 0}.page pre{background:var(--panel);padding:8px 12px;border-radius:8px;overflow:auto}
fieldset{border:1px solid var(--accent);border-radius:8px;margin:12px 0;padding:8px 14px}
fieldset label{display:block;padding:3px 0}fieldset input[type=text]{width:100%;font:inherit;padding:4px 8px}
.right{color:#2aa876;font-weight:600}.wrong{color:#e5604d;font-weight:600}.answer{border-color:var(--accent)}
fieldset select{font:inherit;background:var(--panel);color:var(--text)}abbr{text-decoration:underline dotted;cursor:help}
.question{font-size:20px;margin:12px 0 4px}summary{cursor:pointer;color:var(--accent)}.paper{display:none}
@media print{.live .step{display:block}.live nav,details{display:none}.step{break-inside:avoid}.paper{display:block}}
)";

constexpr std::string_view script = R"(
const steps=[...document.querySelectorAll('.step')],range=document.querySelector('input'),said=document.querySelector('#said');
const [first,back,forward,last]=document.querySelectorAll('nav button');
let at=0;
function answer(from){
  const name='answer-'+from.dataset.ask,to=steps.findIndex(s=>s.querySelector('[data-own="'+name+'"]'));
  if(to>=0)show(to);
}
function show(i){
  at=Math.max(0,Math.min(steps.length-1,i));
  steps.forEach((s,k)=>s.classList.toggle('shown',k===at));
  range.value=at;said.textContent=steps[at].querySelector('h2').textContent;
  first.disabled=back.disabled=at===0;last.disabled=forward.disabled=at===steps.length-1;
  for(const own of steps[at].querySelectorAll('[data-own]'))judge(own);
  history.replaceState(null,'','#'+steps[at].id);
}
document.documentElement.classList.add('live');
range.max=steps.length-1;range.oninput=()=>show(+range.value);
first.onclick=()=>show(0);back.onclick=()=>show(at-1);forward.onclick=()=>show(at+1);last.onclick=()=>show(steps.length-1);
addEventListener('keydown',e=>{
  if(e.ctrlKey||e.altKey||e.metaKey)return;
  const ask=e.target.closest&&e.target.closest('[data-ask]');
  if(ask&&e.key==='Enter'&&e.target.type!=='button'){e.preventDefault();return answer(ask);}
  // A field that is being written in keeps its arrow keys. A radio button keeps ↑ and ↓: ← and → step everywhere else.
  if(/^(text|select-one)$/.test(e.target.type)&&!/^Page/.test(e.key))return;
  const to={ArrowRight:at+1,PageDown:at+1,ArrowLeft:at-1,PageUp:at-1,Home:0,End:steps.length-1}[e.key];
  if(to===undefined)return;
  e.preventDefault();show(to);
});
for(const button of document.querySelectorAll('button.answer'))button.onclick=()=>answer(button.closest('[data-ask]'));
const named=()=>steps.findIndex(s=>'#'+s.id===location.hash);
addEventListener('hashchange',()=>{if(named()>=0)show(named())});
show(Math.max(0,named()));
)";

}  // namespace

std::string lettered_choice(std::size_t index, const std::string& choice) {
  return fmt::format("{}. {}", static_cast<char>('A' + index), choice);
}

std::string closed_answer(const std::string& answer, const std::string& said) {
  return fmt::format(
      "<details><summary>{0}</summary><p class=\"right\">{1}</p>{3}</details><div class=\"paper\"><p "
      "class=\"right\">{2}</p>{3}</div>",
      html_text(tr("Answer")), answer, html_text(say(tr("Answer: {}"), "")) + answer, said);
}

std::string html_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63U];
  }
  return out;
}

std::string bytes_on(const Lane& lane, Link link) {
  std::int64_t bytes = 0;
  for (const auto& by_link : lane.state.traffic) bytes += by_link[static_cast<std::size_t>(link)];
  return fmt::format("{}{}", about_mark(lane, static_cast<double>(bytes)), format_exact_bytes(Bytes(bytes)));
}

std::string table_of(const PageHead& head, const PageStep& step) {
  std::string out = "<table>";
  if (head.runs.size() > 1) {
    out += "<thead><tr><th></th>";
    for (const std::string& run : head.runs) out += fmt::format("<th scope=\"col\">{}</th>", html_text(run));
    out += "</tr></thead>";
  }
  out += "<tbody>";
  for (const PageStep::Counter& counter : step.counters) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(counter.name));
    for (const std::string& bytes : counter.bytes) out += fmt::format("<td>{}</td>", html_text(bytes));
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

}  // namespace

PageStep page_step(const SessionView& view) {
  const View words{view, nullptr};
  PageStep out;
  const Lane& lane = view.lane();
  out.step = lane.step;
  out.heading = caption_step(words);
  out.line = caption_line(words);
  if (lane.operation != nullptr && lane.operation->line > 0 && !view.playback.race)
    out.why = formula_text(translated(lane.simulation->info->listing[static_cast<std::size_t>(lane.operation->line) - 1].why));
  struct Name {
    Link link;
    const char* text;
  };
  for (const Name& name :
       {Name{Link::hbm_read, tr("HBM read")}, Name{Link::hbm_write, tr("HBM written")}, Name{Link::l2_to_sm, "L2→SM"},
        Name{Link::sm_to_l2, "SM→L2"}, Name{Link::smem_read, tr("shared read")}, Name{Link::smem_write, tr("shared written")}}) {
    PageStep::Counter counter{name.text, {}};
    for (const Lane& each : view.lanes)
      if (view.playback.race || &each == &lane) counter.bytes.push_back(bytes_on(each, name.link));
    out.counters.push_back(std::move(counter));
  }
  return out;
}

std::string page_picture(const std::string& png, const std::string& description) {
  return fmt::format("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", html_text(description), base64(png));
}

std::string page_around(const PageHead& head, const std::string& articles) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\" data-theme=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<header><h1>{}</h1><p class=\"dim\">{}</p></header>\n",
      head.language, head.dark ? "dark" : "light", html_text(head.title), style, html_text(head.title), html_text(head.problem));
  const auto button = [](const char* label, const char* sign) {
    return fmt::format("<button type=\"button\" aria-label=\"{0}\" title=\"{0}\">{1}</button>", html_text(label), sign);
  };
  out += fmt::format(
      "<nav>{}{}{}{}<input type=\"range\" min=\"0\" value=\"0\" aria-label=\"{}\"><span id=\"said\" "
      "aria-live=\"polite\"></span></nav>\n<main>\n",
      button(tr("First step (Home)"), "&#124;&#9664;"), button(tr("Step back (←)"), "&#9664;"),
      button(tr("Step forward (→)"), "&#9654;"), button(tr("Last step (End)"), "&#9654;&#124;"), html_text(tr("Step")));
  return out + articles + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", script);
}

std::string step_page(const PageHead& head, const std::vector<PageStep>& steps) {
  std::string articles;
  for (const PageStep& step : steps)
    articles += fmt::format(
        "<article class=\"step\" id=\"step-{}\">\n<div class=\"picture\">{}</div>\n<div class=\"text\"><div><h2>{}</h2><p>{}</p>"
        "<p class=\"dim\">{}</p></div>{}</div>\n</article>\n",
        step.step, step.picture, html_text(step.heading), html_text(step.line), html_text(step.why), table_of(head, step));
  return page_around(head, articles);
}

}  // namespace tilescope
