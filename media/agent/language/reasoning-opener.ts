/*
 * Beginnings of reasoning that a model writes as plain text: it speaks about the caller, or to itself. They are
 * English, because models reason in English whatever the caller speaks.
 */

const BEFORE = 'okay ok alright all-right hmm hm so well right now wait first'.split(' ')
const PEOPLE = 'user caller customer human person client'.split(' ')
const VERBS = (
  'respond answer reply greet ask check figure think determine consider use call give tell say be provide confirm find ' +
  'follow produce output look understand keep make write generate decide explain'
).split(' ')

/** Beginnings after the interjections, in lower case, without marks. */
const STEMS: readonly string[] = [
  ...PEOPLE.flatMap((person) => [`the ${person} `, `the ${person}s `, `this ${person} `, `${person} `]),
  'the assistant ',
  'the conversation ',
  'the system prompt ',
  'the instructions ',
  ...['i', 'we'].flatMap((who) => [
    `${who} need to `,
    ...VERBS.flatMap((verb) => [`${who} should ${verb} `, `${who} must ${verb} `, `${who} have to ${verb} `]),
  ]),
  ...['let me', "let's", 'let us'].flatMap((who) =>
    'think analyze analyse consider parse figure break reason recall see'
      .split(' ')
      .map((verb) => `${who} ${verb} `),
  ),
  ...['thinking process', 'thought process', 'thinking', 'thought', 'reasoning', 'analysis', 'plan'].map(
    (title) => `${title}:`,
  ),
]

/** Maximum number of interjections before a stem. */
const MAX_BEFORE = 3

/** Tells whether a text begins like reasoning. Returns `part` if more text decides. */
export function reasoningOpener(text: string): boolean | 'part' {
  let rest = text
    .slice(0, 200)
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[*#_"]/g, '')
    .replace(/\s+/g, ' ')
    .trimStart()
  for (let n = 0; ; n++) {
    const found = stemAt(rest)
    if (found !== false) return found
    const word = BEFORE.find((one) => rest.startsWith(one) && !/^[a-z']/.test(rest.slice(one.length)))
    if (word === undefined || n === MAX_BEFORE) return false
    rest = rest.slice(word.length).replace(/^[\s,.!:;-]+/, '')
  }
}

function stemAt(rest: string): boolean | 'part' {
  if (STEMS.some((stem) => rest.startsWith(stem))) return true
  const may = [...STEMS, ...BEFORE].some((start) => start.startsWith(rest))
  return may ? 'part' : false
}
