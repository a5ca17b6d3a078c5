// A page has no "<" in its script, so that what reads its tags need not know of scripts.
#include "app/answer_script.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/typed_quantity.h"

namespace tilescope {

namespace {

constexpr std::string_view functions = R"(
// What was typed, in the unit of the question, by the rule of typed_quantity(). NaN where it is no number.
const groups='[1-9]\\d{0,2}(?:[, ]\\d{3})+(?!\\d)',decimals='(?:'+groups+'(?:\\.\\d*)?|\\d+(?:\\.\\d*|,\\d+)?|[.,]\\d+)';
const unsigned='('+decimals+'(?:e[-+]?\\d+)?)',quantities=new RegExp('^ *([-+]?) *'+unsigned+'(?:/'+unsigned+')?(.*)$','i');
const grouped=new RegExp('^'+groups);
function plainNumber(text){
  const value=+text.replace(grouped,g=>g.replace(/[, ]/g,'')).replace(',','.'),tooSmall=value===0&&/^[^e]*[1-9]/i.test(text);
  return Number.isFinite(value)&&!tooSmall?value:NaN;
}
function quantity(typed,by){
  const found=quantities.exec(typed.replace(/[\u2009\u00a0\u202f\t]/g,' ').replace(/\u2212/g,'-'));
  if(!found)return NaN;
  const name=found[4].replace(/ /g,'').replace(/[A-Z]/g,c=>c.toLowerCase());
  const value=(found[1]==='-'?-1:1)*plainNumber(found[2])/plainNumber(found[3]??'1');
  const factor=name===''?(Math.abs(value)>=1?by.plain:1):Object.hasOwn(by.units,name)?by.units[name]:NaN;
  return Number.isFinite(value*factor)?value*factor:NaN;
}
// Whether a drawing bends as the curve does, as bend_missed() has it.
function bends(curve,drawn,by){
  const bend=y=>{
    const last=y.length-1,height=Math.max(...y)-Math.min(...y);
    return height>0&&last>1?y.slice(1,-1).reduce((sum,v,k)=>sum+v-y[0]-by.across[k+1]*(y[last]-y[0]),0)/((last-1)*height):0;
  },real=bend(curve);
  return by.bend[0]>Math.abs(real)||bend(drawn)*real>=by.bend[1]*real*real;
}
// Whether an answer is complete, whether it is right, and which reason it gets: -1 for none. `chosen` is the option of a choice. `typed`
// are the numbers as text, or of an order the place of each option.
function verdict(by,chosen,typed){
  const text=by.kind==='number'||by.kind==='draw',order=by.kind==='order';
  const numbers=text?typed.map(t=>quantity(t,by)):order?typed.map(Number):[];
  const complete=text?numbers.every(Number.isFinite):order?by.right.every((r,k)=>numbers.includes(k+1)):chosen!==-1;
  if(!complete)return {complete};
  const near=(a,b)=>by.tolerance*Math.abs(b)+rounding>=Math.abs(a-b);
  const off=text?by.right.map((r,k)=>[numbers[k],r]).filter(p=>!near(p[0],p[1])):[];
  const right=text?off.length===0&&(by.kind!=='draw'||bends(by.right,numbers,by))
    :order?by.right.every((r,k)=>numbers[k]===r):chosen===by.right;
  const above=off.some(p=>p[0]>p[1]),below=off.some(p=>p[1]>p[0]),way=above===below?'shape':above?'above':'below';
  const fits=w=>'choice'in w?w.choice===chosen:'near'in w?near(numbers[0],w.near):'drawn'in w?w.drawn===way:true;
  return {complete,right,why:right?-1:by.wrong.findIndex(fits)};
}
// Puts the own answer beside the simulated one, and whether it is right, or why not.
function judge(own){
  const fields=[...document.querySelectorAll('[name="'+own.dataset.own+'"]')],by=JSON.parse(own.dataset.judge);
  const chosen=fields.findIndex(f=>f.checked),typed=fields.map(f=>f.value),radio=by.kind==='choice'||by.kind==='point';
  const reasons=[...own.parentElement.querySelectorAll('.why')];
  own.textContent='';own.className='dim';
  for(const reason of reasons)reason.hidden=true;
  if(radio?chosen===-1:typed.every(t=>t===''))return;
  const words=radio?fields[chosen].value:by.kind!=='order'?typed.join('; ')
    :fields.map((f,k)=>[+typed[k]||99,f.parentElement.lastChild.textContent.trim()]).sort((a,b)=>a[0]-b[0]).map(o=>o[1]).join(' > ');
  const {complete,right,why}=verdict(by,chosen,typed);
  own.textContent=own.dataset.words+' '+words+'. '+(!complete?own.dataset.incomplete:right?own.dataset.good:own.dataset.bad);
  if(!complete)return;
  own.className=right?'right':'wrong';
  if(why!==-1)reasons[why].hidden=false;
}
)";

template <class Values>
std::string listed(const Values& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

}  // namespace

std::string_view answer_script() {
  static const std::string script = fmt::format("\nconst rounding={};{}", rounding, functions);
  return script;
}

std::string judged_by(const LessonQuestion& ask, const PageFigures& figures) {
  std::string suffixes;
  for (const auto& [name, factor] : unit_suffixes(ask.unit))
    suffixes += fmt::format("{}\"{}\":{}", suffixes.empty() ? "" : ",", name, factor);
  std::string right, bend;
  double tolerance = 0;
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      right = fmt::format("{}", right_option(ask, figures));
      break;
    case QuestionKind::order: {
      const std::vector<int> order = right_order(figures);
      std::vector<std::ptrdiff_t> places;  // of each option, from 1
      for (std::size_t i = 0; i < order.size(); ++i)
        places.push_back(std::find(order.begin(), order.end(), static_cast<int>(i)) - order.begin() + 1);
      right = listed(places);
      break;
    }
    case QuestionKind::number:
      right = listed(std::vector<double>{figures.answer});
      tolerance = ask.tolerance;
      break;
    case QuestionKind::draw:
      right = listed(figures.curve);
      tolerance = ask.tolerance;
      bend = fmt::format(R"("across":{},"bend":[{},{}],)", listed(places_across(ask.xs)), least_bend, least_part_of_bend);
      break;
  }
  std::vector<std::string> wrong;  // what each reason stands for
  for (std::size_t i = 0; i < ask.wrong.size(); ++i)
    wrong.push_back(ask.wrong[i].option >= 0     ? fmt::format(R"({{"choice":{}}})", ask.wrong[i].option)
                    : !ask.wrong[i].near.empty() ? fmt::format(R"({{"near":{}}})", figures.near[i])
                    : ask.wrong[i].drawn         ? fmt::format(R"({{"drawn":"{}"}})", to_string(*ask.wrong[i].drawn))
                                                 : std::string("{}"));
  return fmt::format(R"({{"kind":"{}","right":{},"tolerance":{},{}"plain":{},"units":{{{}}},"wrong":{}}})", to_string(ask.kind),
                     right, tolerance, bend, plain_factor(ask.unit), suffixes, listed(wrong));
}

}  // namespace tilescope
