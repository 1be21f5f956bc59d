/*
 * Stems of English words: the Porter2 algorithm (https://snowballstem.org/algorithms/english/stemmer.html). Before it,
 * British spellings become American ones, and irregular forms become their base form.
 */

const SHORT_END = /(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$/
const DOUBLE_END = /(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/

/** Groups of forms. The first of a group is its base form. */
const FORMS = [
  'become became, begin began begun, bend bent, bind bound, bite bitten, bleed bled, blow blew blown, break broke broken',
  'bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen choice, come came, deal dealt',
  'dig dug, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt',
  'fight fought, find found, fly flew flown flight, forget forgot forgotten, freeze froze frozen, get got gotten',
  'give gave given, go went gone, grow grew grown growth, hang hung, hear heard, hide hid hidden, hold held, keep kept',
  'know knew known knowledge, lay laid, lead led, learn learnt, leave left, lend lent, lose lost loss, make made, mean meant',
  'meet met, pay paid payment, prepay prepaid, repay repaid, ride rode ridden, ring rang rung, rise rose risen, run ran',
  'say said, see saw seen, seek sought, sell sold sale, send sent, shake shook shaken, shoot shot, show shown',
  'shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken speech',
  'spend spent, spill spilt, spoil spoilt, stand stood, steal stole stolen theft, stick stuck, strike struck',
  'swear swore sworn, swim swam swum, take took taken, teach taught, tear tore torn, tell told, think thought',
  'throw threw thrown, understand understood, wake woke woken, wear wore worn, win won, withdraw withdrew withdrawn',
  'write wrote written, child children, person people persons, man men, woman women, foot feet, tooth teeth',
  'mouse mice, life lives, wife wives, knife knives, leaf leaves, half halves, shelf shelves, thief thieves',
  'deliver delivery, discover discovery, recover recovery, inquire inquiry, enquire enquiry, expire expiry, enter entry',
  'die dead death, weigh weight, high height, long length, wide width, deep depth, strong strength, bear born birth',
  'succeed success, proceed procedure, receive receipt reception, destroy destruction, produce product production',
  'reduce reduction, introduce introduction, describe description, prescribe prescription, subscribe subscription',
  'permit permission, admit admission, submit submission, decide decision, extend extension, expand expansion',
  'suspend suspension, convert conversion, redeem redemption, resume resumption, apply application applicant',
  'explain explanation, maintain maintenance, exceed excess, marry marriage, prove proof, believe belief, advise advice',
  'pregnant pregnancy, urgent urgency, emergent emergency, vacant vacancy, arrive arrival, identity identify identification',
  'gray grey, tire tyre, check cheque, jewelry jewellery, age ageing, program programme, draft draught, story storey',
]
const BASES: ReadonlyMap<string, string> = new Map(
  FORMS.flatMap((group) => group.split(', ')).flatMap((forms) => {
    const [base = '', ...others] = forms.split(' ')
    return others.map((other) => [other, base] as const)
  }),
)

const BRITISH: readonly (readonly [RegExp, string])[] = [
  [/(?<=[a-z]{3})is(?=e[drs]?$|ing$|ations?$)/, 'iz'],
  [/(?<=[a-z]{3})our(?=$|s$|ed$|ing$|able$|ite)/, 'or'],
  [/(?<=[a-z]{2}[bt])re(?=s?$)/, 'er'],
  [/(?<=licen|defen|offen|preten|practi)c(?=e)/, 's'],
  [/ificat(?:ions?|es?)$/, 'ify'],
]

const EXCEPTIONS: Readonly<Record<string, string>> = {
  ...{ skis: 'ski', skies: 'sky', dying: 'die', lying: 'lie', tying: 'tie', idly: 'idl', gently: 'gentl' },
  ...{
    ugly: 'ugli',
    early: 'earli',
    only: 'onli',
    singly: 'singl',
    news: 'news',
    atlas: 'atlas',
    bias: 'bias',
  },
}
/** Words that keep their ending after the plural is gone. */
const WHOLE = new Set(['inning', 'outing', 'canning', 'herring', 'earring', 'proceed', 'exceed', 'succeed'])

type Ending = readonly [ending: string, instead: string]
/** Endings in the first region, the longest first. */
const STEP_2: readonly Ending[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['bli', 'ble'],
]
const STEP_3: readonly Ending[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]
const STEP_4 = /(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic|(?<=[st])ion)$/

/** Returns the stem of a word of lower-case Latin letters. */
export function englishStem(word: string): string {
  if (word.length <= 2) return word
  let base = BASES.get(word) ?? BASES.get(word.replace(/ies$/, 'y').replace(/s$/, '')) ?? word
  for (const [british, american] of BRITISH) base = base.replace(british, american)
  return EXCEPTIONS[base] ?? porter(BASES.get(base) ?? base)
}

function porter(word: string): string {
  let stem = singular(word.replace(/^y|(?<=[aeiouy])y/g, 'Y'))
  if (WHOLE.has(stem)) return stem
  const first = firstRegion(stem)
  const second = regionAfter(stem, first)
  stem = withoutInflection(stem, first)
  stem = replaced(stem, STEP_2, first)
  if (/[cdeghkmnrt]li$/.test(stem) && stem.length - 2 >= first) stem = stem.slice(0, -2)
  else if (stem.endsWith('logi') && stem.length - 3 >= first) stem = stem.slice(0, -1)
  stem = replaced(stem, STEP_3, first)
  if (stem.endsWith('ative') && stem.length - 5 >= second) stem = stem.slice(0, -5)
  const [last = ''] = STEP_4.exec(stem) ?? []
  if (last !== '' && stem.length - last.length >= second) stem = stem.slice(0, -last.length)
  const end = stem.length - 1
  if (stem.endsWith('e')) {
    if (end >= second || (end >= first && !SHORT_END.test(stem.slice(0, -1)))) stem = stem.slice(0, -1)
  } else if (stem.endsWith('ll') && end >= second) stem = stem.slice(0, -1)
  return stem.toLowerCase()
}

function singular(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (/ie[ds]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1)
  if (/[us]s$/.test(word)) return word
  return /[aeiouy].{1,60}s$/.test(word) ? word.slice(0, -1) : word
}

function withoutInflection(word: string, first: number): string {
  const [eed] = /eed(?:ly)?$/.exec(word) ?? []
  if (eed !== undefined) return word.length - eed.length >= first ? `${word.slice(0, -eed.length)}ee` : word
  const stem = word.replace(/(?:ed|ing)(?:ly)?$/, '')
  let found = word
  if (stem !== word && /[aeiouy]/.test(stem)) {
    if (/(?:at|bl|iz)$/.test(stem)) found = `${stem}e`
    else if (DOUBLE_END.test(stem)) found = stem.slice(0, -1)
    else found = stem.length <= first && SHORT_END.test(stem) ? `${stem}e` : stem
  }
  return found.replace(/(?<=.[^aeiouy])[yY]$/, 'i')
}

/** Replaces the longest ending, if it lies in the region. */
function replaced(word: string, endings: readonly Ending[], from: number): string {
  const found = endings.find(([ending]) => word.endsWith(ending))
  if (found === undefined || word.length - found[0].length < from) return word
  return word.slice(0, -found[0].length) + found[1]
}

/** Returns where the region after the first consonant that follows a vowel begins. */
function firstRegion(word: string): number {
  const [prefix] = /^(?:gener|commun|arsen)/.exec(word) ?? []
  return prefix?.length ?? regionAfter(word, 0)
}

function regionAfter(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from))
  return found === null ? word.length : from + found.index + 2
}
