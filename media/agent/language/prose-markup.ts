/*
 * Marks that separate the reasoning and the tool calls of a model from its words. Each family of models has its own;
 * their chat templates define them.
 */

/**
 * The meaning of a mark: reasoning begins or ends; a call of a tool begins or ends; a role or channel follows (`header`) and its
 * text begins (`message`); the turn of the model is over; nothing (`skip`).
 */
export type MarkKind =
  | 'thoughtOpen'
  | 'thoughtClose'
  | 'callOpen'
  | 'callClose'
  | 'role'
  | 'channel'
  | 'message'
  | 'turnEnd'
  | 'skip'

export interface Mark {
  readonly kind: MarkKind
  /** Length in the text (UTF-16 units). */
  readonly length: number
  /** Lower case, without brackets. */
  readonly name: string
}

/** Longest mark (UTF-16 units). */
const MAX_MARK = 128

const THOUGHT = new Set(
  (
    'think thinking thinks thought thoughts reason reasoning reflection reflect scratchpad analysis commentary ' +
    'internal inner_thoughts inner_monologue seed:think ant:thinking antthinking antml:thinking details'
  ).split(' '),
)
const CALL = new Set(
  (
    'tool_call tool_calls toolcall function_call function_calls function tool_use tool_code tool_response tool_result ' +
    'tool_results invoke minimax:tool_call antml:function_calls antml:invoke execute_tool'
  ).split(' '),
)
/** Tags around what is said, and marks of templates without a meaning here. */
const SKIPPED = new Set('answer final final_answer output response reply bos unk pad s seed:bos'.split(' '))
const TURN_END = new Set(['eos', 'end_of_turn', 'seed:eos'])
const TAGS = new Set([...THOUGHT, ...CALL, ...SKIPPED, ...TURN_END, 'start_of_turn'])

/** Marks `<|name|>`; DeepSeek writes wide bars, and `▁` between words. */
const SPECIAL: Readonly<Record<string, MarkKind>> = {
  think: 'thoughtOpen',
  thinking: 'thoughtOpen',
  start_thinking: 'thoughtOpen',
  begin_of_thought: 'thoughtOpen',
  '/think': 'thoughtClose',
  '/thinking': 'thoughtClose',
  end_thinking: 'thoughtClose',
  end_of_thought: 'thoughtClose',
  tool_call: 'callOpen',
  tool_calls: 'callOpen',
  tool_call_start: 'callOpen',
  tool_call_begin: 'callOpen',
  tool_calls_begin: 'callOpen',
  tool_calls_section_begin: 'callOpen',
  start_action: 'callOpen',
  python_tag: 'callOpen',
  '/tool_call': 'callClose',
  tool_call_end: 'callClose',
  tool_calls_end: 'callClose',
  tool_calls_section_end: 'callClose',
  end_action: 'callClose',
  channel: 'channel',
  message: 'message',
  start: 'role',
  im_start: 'role',
  start_header_id: 'role',
  end_header_id: 'message',
  im_sep: 'message',
  end: 'turnEnd',
  im_end: 'turnEnd',
  eot_id: 'turnEnd',
  eom_id: 'turnEnd',
  eot: 'turnEnd',
  eos: 'turnEnd',
  end_of_sentence: 'turnEnd',
  end_of_text: 'turnEnd',
  end_of_turn: 'turnEnd',
  end_of_turn_token: 'turnEnd',
  endoftext: 'turnEnd',
  return: 'turnEnd',
  call: 'turnEnd',
}
const BRACKETS: Readonly<Record<string, MarkKind>> = {
  '[think]': 'thoughtOpen',
  '[/think]': 'thoughtClose',
  '[tool_calls]': 'callOpen',
  '[/tool_calls]': 'callClose',
  '[inst]': 'skip',
  '[/inst]': 'skip',
  '◁think▷': 'thoughtOpen',
  '◁/think▷': 'thoughtClose',
}

/** Characters with which a mark begins. */
export const MARK_BEGINS = /[<[◁]/g

const TAG = /^<(\/?)([a-z][\w:-]*)((?:[\s=][^<>]*)?)>/i
const TAG_PART = /^<\/?([a-z][\w:-]*)?(?:([\s=])[^<>]*)?$/i
const BARRED = /^<[|｜]([^<>|｜]+)[|｜]>/
const BARRED_PART = /^<[|｜](?:[^<>|｜]+[|｜]?)?$/
/** An element of HTML (`<details type="reasoning">`) is reasoning only if it says so. */
const REASONING = /reasoning/i

/** Returns the mark at the start of the text, `part` if more text may complete one, or null. */
export function markAt(text: string): Mark | 'part' | null {
  const head = text.slice(0, MAX_MARK)
  if (!head.startsWith('<')) return bracketAt(head)
  const barred = BARRED.exec(head)
  if (barred !== null) {
    const name = (barred[1] ?? '').trim().toLowerCase().replaceAll(/[▁\s]/g, '_')
    return { kind: SPECIAL[name] ?? 'skip', length: barred[0].length, name }
  }
  const tag = TAG.exec(head)
  if (tag !== null) return tagOf(tag)
  if (text.length >= MAX_MARK) return null
  if (BARRED_PART.test(head)) return 'part'
  const part = TAG_PART.exec(head)
  if (part === null) return null
  const name = part[1]?.toLowerCase() ?? ''
  const known = part[2] === undefined ? [...TAGS].some((tag) => tag.startsWith(name)) : TAGS.has(name)
  return known ? 'part' : null
}

function tagOf([whole, slash, given = '', rest = '']: RegExpExecArray): Mark | null {
  const name = given.toLowerCase()
  const mark = (kind: MarkKind): Mark => ({ kind, length: whole?.length ?? 0, name: name + rest })
  if (name === 'details' && slash === '' && !REASONING.test(rest)) return null
  if (THOUGHT.has(name)) return mark(slash === '' ? 'thoughtOpen' : 'thoughtClose')
  if (CALL.has(name)) return mark(slash === '' ? 'callOpen' : 'callClose')
  if (TURN_END.has(name)) return mark('turnEnd')
  if (name === 'start_of_turn') return mark('role')
  return SKIPPED.has(name) ? mark('skip') : null
}

function bracketAt(head: string): Mark | 'part' | null {
  const text = head.toLowerCase()
  for (const [mark, kind] of Object.entries(BRACKETS)) {
    if (text.startsWith(mark)) return { kind, length: mark.length, name: mark.slice(1, -1) }
    if (mark.startsWith(text)) return 'part'
  }
  return null
}
