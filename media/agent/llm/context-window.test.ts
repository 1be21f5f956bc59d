import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { type Random, seeded } from '../../../fixtures/host/random.js'
import type { ChatMessage } from '../vendor-ports.js'
import { countTokens, estimateTokens, fitMessages, promptBudget } from './context-window.js'

const WORDS = ['open', 'tomorrow', 'appointment', 'नमस्ते', 'कल', 'வணக்கம்', 'సరే', '42', 'ಹೌದು', '👍']

/** A conversation with words of both sides, complete tool rounds and late results. */
function history({ next: random }: Random): ChatMessage[] {
  const text = (most: number): string =>
    Array.from(
      { length: 1 + Math.floor(random() * most) },
      () => WORDS[Math.floor(random() * WORDS.length)],
    ).join(' ')
  const messages: ChatMessage[] = [{ role: 'system', content: text(200) }]
  const turns = Math.floor(random() * 40)
  let id = 0
  const round = () => {
    const calls = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
      id: `call_${id++}`,
      name: 'look',
      arguments: { what: text(3) },
    }))
    messages.push({ role: 'assistant', content: null, toolCalls: calls })
    for (const call of calls) messages.push({ role: 'tool', toolCallId: call.id, content: text(600) })
  }
  for (let i = 0; i < turns; i++) {
    if (random() < 0.85) messages.push({ role: 'user', content: text(40) })
    while (random() < 0.25) round()
    if (random() < 0.1) messages.push({ role: 'system', content: text(20) })
    if (random() < 0.8) messages.push({ role: 'assistant', content: text(60) })
  }
  if (random() < 0.7) messages.push({ role: 'user', content: text(30) })
  while (random() < 0.3) round()
  return messages
}

t.test('tool calls and results stay together in every history', async (t): Promise<unknown> => {
  let fitted = 0
  let untouched = 0
  for (let seed = 1; seed <= 4000; seed++) {
    const random = seeded(seed)
    const before = history(random)
    const budget = 200 + Math.floor(random.next() * 6000)
    const copy = structuredClone(before)
    const after = fitMessages(before, budget)
    const problem = problemOf(before, after, budget)
    if (problem !== null) return t.fail(`seed ${seed}: ${problem}`)
    // Assertions of tap are too slow for this many checks.
    if (!isDeepStrictEqual(before, copy)) return t.fail(`seed ${seed}: the history was changed`)
    if (!isDeepStrictEqual(fitMessages(before, budget), after)) return t.fail(`seed ${seed}: another result`)
    if (after === before) untouched++
    else if (countTokens(after) <= budget) fitted++
  }
  t.ok(untouched > 100, `${untouched} fitted as they were`)
  return t.ok(fitted > 1000, `${fitted} were made to fit`)
})

function problemOf(
  before: readonly ChatMessage[],
  after: readonly ChatMessage[],
  budget: number,
): string | null {
  if (!after[0]?.content?.startsWith(before[0]?.content ?? '?')) return 'the prompt is gone'
  const waiting = new Set<string>()
  for (const message of after) {
    if (message.role === 'tool') {
      if (!waiting.delete(message.toolCallId)) return `a result without its call: ${message.toolCallId}`
      continue
    }
    if (waiting.size > 0) return 'a call without its result'
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) waiting.add(id)
  }
  if (waiting.size > 0) return 'a call without its result at the end'
  // In order, and only removed from the front.
  const kept = after.slice(1)
  const tail = before.slice(before.length - kept.length)
  for (const [i, message] of kept.entries()) {
    const own = tail[i]
    if (own?.role !== message.role) return 'another order'
    if (message.role !== 'tool' && own.content !== message.content) return 'other words'
    if (message.role === 'tool' && message.content.length > (own.content?.length ?? 0))
      return 'a longer result'
  }
  const lastUser = before.findLastIndex(({ role }) => role === 'user')
  const mustStay = lastUser < 0 ? 0 : before.length - lastUser
  if (kept.length < mustStay) return 'the last words of the caller are gone'
  if (kept.length < before.length - 1 && !/left out here/.test(after[0]?.content ?? '')) return 'no note'
  if (kept.length < before.length - 1 && lastUser >= 0 && kept[0]?.role !== 'user') return 'no whole turn'
  // Over the budget only when nothing else may be removed.
  if (countTokens(after) > budget && kept.length > mustStay && lastUser >= 0)
    return 'something could still go'
  return null
}

t.test('letters of Indian scripts cost more tokens than Latin ones', async (t) => {
  t.ok(estimateTokens('नमस्ते जी') > 2 * estimateTokens('namaste ji'))
  t.equal(estimateTokens(''), 0)
})

t.test('older results are shortened before any turn is dropped', async (t) => {
  const long = 'x'.repeat(8000)
  const messages: ChatMessage[] = [
    { role: 'system', content: 'You are Asha.' },
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, toolCalls: [{ id: 'a', name: 'look', arguments: {} }] },
    { role: 'tool', toolCallId: 'a', content: long },
    { role: 'assistant', content: 'There it is.' },
    { role: 'user', content: 'And now?' },
  ]
  const after = fitMessages(messages, 1000)
  t.equal(after.length, messages.length)
  t.match(after[3], { role: 'tool', content: /^x{400} \[\.\.\.\]$/ })
  t.equal(after[0]?.content, 'You are Asha.')
})

t.test('the latest result is longer than the window', async (t) => {
  const messages: ChatMessage[] = [
    { role: 'system', content: 'You are Asha.' },
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, toolCalls: [{ id: 'a', name: 'look', arguments: {} }] },
    { role: 'tool', toolCallId: 'a', content: '👍'.repeat(4000) },
  ]
  const after = fitMessages(messages, 500)
  t.ok(countTokens(after) <= 500)
  t.ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(after[3]?.content ?? ''))
})

t.test('the budget leaves room for tools and the reply', async (t) => {
  const tool = { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }
  const prompt: ChatMessage = { role: 'system', content: 'x'.repeat(2000) }
  const own = countTokens([prompt])
  t.equal(promptBudget(8192, [prompt], []), 7192)
  t.ok(promptBudget(8192, [prompt], [tool]) < 7192)
  t.equal(promptBudget(1_000_000, [prompt], []), own + 24_000)
  t.equal(promptBudget(512, [prompt], []), own + 2000, 'an estimate alone does not empty a conversation')
})
