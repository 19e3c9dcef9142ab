// The questions of a lesson: look up the rule that holds an answer. .ci/site_questions.py writes the rules.
"use strict";

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** The number that a text stands for, also as a fraction (1/8); else NaN. */
function numberIn(text) {
  const [over, under = "1", ...more] = text.split("/").map(part => part.trim());
  return !more.length && NUMBER.test(over) && NUMBER.test(under) ? over / under : NaN;
}

/** The letters and digits of a word; the value of a number. */
const plain = text => (NUMBER.test(text) ? Number(text) : text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ""));

/** Whether an answer is right, the words for it, and the hint for a second wrong try. */
function checked({ word, rules, others, hint }, text) {
  const value = word ? plain(text) : numberIn(text), first = rules[0];
  if (!word && !Number.isFinite(value)) {
    const point = /\d,\d/.test(text) ? " Write a decimal point, not a comma." : "";
    return [false, `Expected a number; you gave ${text}.${point}`, hint];
  }
  const holds = ([key, room]) => key === value || (word ? key === "" : Math.abs(value - key) <= room);
  const beyond = value * first[0] < 0 ? 0 : Math.abs(value) > Math.abs(first[0]) ? 1 : 2;
  const rule = rules.find(holds) ?? [NaN, 0, ...others[beyond]];
  return rule === first ? [true, "right."] : [false, `not ${text}.\n${rule[2]}`.trim(), rule[3]];
}

for (const form of document.querySelectorAll("form.question")) {
  const rules = JSON.parse(atob(form.dataset.rules)), field = form.querySelector("input"), status = form.querySelector("[role=status]");
  let misses = 0;
  form.addEventListener("submit", event => {
    event.preventDefault();
    const text = field.value.trim().replaceAll("\u2212", "-"); // the minus sign of a text that was copied
    form.dataset.state = "";
    status.textContent = "Type an answer first.";
    if (!text) return;
    const [right, words, hint] = checked(rules, text);
    misses = right ? 0 : misses + 1;
    form.dataset.state = right ? "right" : "wrong";
    status.textContent = `${right ? "\u2713" : "\u2717"} ${words}${misses > 1 && hint ? `\nHint: ${hint}` : ""}`;
  });
}
