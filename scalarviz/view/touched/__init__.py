"""What is touched: the hovered and the selected cubes, and the inspector that says what a weight is and why it moves.

Open `touch` first: the state of pointer and selection, and all that is drawn because of them. Then `inspector`: what is
selected, what is known of it, and where it stands (`covering`).

* who: `who` is a weight's name, `parts` the outline that it stands in, `selection` several of them
* why: `account` is the coming step for one weight as plain numbers, `opening` asks a run for it; `explanation` is the
  line about the last step where nobody asks; `value_history` how the weight moved
* how it looks: `page` is a column of sections with what a click on them does, `column` chooses which there is room
  for, below the outline of where a weight stands: `figures`, `ledger` (terms that add up), `rule_lines`, `plots`;
  `small` is the form below the cubes, `entry` a number that is being typed
* `input_swatch` shows the sample whose way is drawn
"""
