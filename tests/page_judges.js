// Asks the script of an exported lesson about the answers of a table, and about drawings: the curve, and a line through its ends.
// Usage: node page_judges.js lesson.html typed_answers.json
'use strict';
const fs = require('fs'), vm = require('vm');
const html = fs.readFileSync(process.argv[2], 'utf8'), table = JSON.parse(fs.readFileSync(process.argv[3], 'utf8'));
const script = html.slice(html.indexOf('<script>') + 8, html.indexOf('</script>'));
const plain = text => text.replace(/&quot;/g, '"').replace(/&lt;/g, '<').replace(/&amp;/g, '&');

const page = {fields: []};
const sandbox = {document: {querySelectorAll: () => page.fields}, found: {}};
vm.runInNewContext(script + ';found.judge=judge;found.quantity=quantity;found.verdict=verdict;', sandbox);

let failed = 0;
function check(what, holds) {
  if (holds) return;
  console.error('page_judges: ' + what);
  failed = 1;
}
const namesOf = unit => table.units.find(row => row.of.includes(unit));
for (const [unit, typed, number] of table.numbers) {
  const read = sandbox.found.quantity(typed, namesOf(unit));
  check(`"${typed}" as ${unit} is ${read}, not ${number}`,
        number === null ? Number.isNaN(read) : Math.abs(read - number) <= 1e-12 * Math.abs(number));
}
for (const {ask, page: own, answers} of table.questions) {
  const {plain: factor, units} = namesOf(ask.unit), by = {...own, plain: factor, units};
  for (const answer of answers) {
    const {complete, right, why} = sandbox.found.verdict(by, answer.chosen ?? -1, answer.typed ?? []);
    const is = !complete ? 'incomplete' : right ? 'right' : why === -1 ? 'wrong' : why;
    check(`${JSON.stringify(answer)} to ${JSON.stringify(ask)} is ${is}`, is === answer.is);
  }
}

/// Returns how the page judges these points, and which way it says that they are off.
function judged(judge, points) {
  page.fields = points.map(value => ({type: 'text', value: String(value)}));
  const reasons = judge.wrong.map(reason => ({hidden: true, reason}));
  const own = {
    dataset: {own: 'answer', judge: JSON.stringify(judge), words: '', good: 'good', bad: 'bad'},
    parentElement: {querySelectorAll: () => reasons},
  };
  sandbox.found.judge(own);
  const shown = reasons.find(reason => !reason.hidden);
  return {right: own.className === 'right', way: shown ? shown.reason.drawn ?? 'else' : 'none'};
}

// An answer that is not complete is not judged: the page says what is missing.
for (const {ask, page: own, answers} of table.questions.filter(({page: by}) => by.kind === 'number')) {
  const {plain: factor, units} = namesOf(ask.unit);
  for (const answer of answers.filter(({is, typed}) => is === 'incomplete' && typed[0] !== '')) {
    page.fields = [{type: 'text', value: answer.typed[0]}];
    const judge = {...own, plain: factor, units};
    const said = {
      dataset: {own: 'answer', judge: JSON.stringify(judge), words: 'own:', good: 'good', bad: 'bad', incomplete: 'a number, please'},
      parentElement: {querySelectorAll: () => []},
    };
    sandbox.found.judge(said);
    check(`"${answer.typed[0]}" is judged: ${said.textContent}`, said.className === 'dim' && said.textContent.endsWith('a number, please'));
  }
}

const judges = [...html.matchAll(/data-judge="([^"]*)"/g)].map(found => JSON.parse(plain(found[1]))).filter(judge => judge.across);
check('the lesson has no question about a curve', judges.length > 0);
for (const judge of judges) {
  const curve = judge.right, last = curve.length - 1;
  const line = judge.across.map(x => curve[0] + x * (curve[last] - curve[0]));
  check('the curve itself is not right', judged(judge, curve).right);
  check('a straight line through the ends of a bent curve is right', !judged(judge, line).right);
  check('twice the curve is right', !judged(judge, curve.map(y => 2 * y)).right);
  check('twice the curve is not told that it is too high', ['above', 'else'].includes(judged(judge, curve.map(y => 2 * y)).way));
  // Between the two: a little more than the least bend is right, a little less is not.
  const mixed = part => curve.map((y, i) => part * y + (1 - part) * line[i]);
  check('a drawing with most of the bend is not right', judged(judge, mixed(0.9)).right);
  check('a drawing with a tenth of the bend is right', !judged(judge, mixed(0.1)).right);
}
process.exit(failed);
