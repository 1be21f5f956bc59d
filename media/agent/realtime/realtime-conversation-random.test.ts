import t from 'tap'
import { type Random, seeded } from '../../../fixtures/host/random.js'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import type {
  ScriptedRealtimeModel,
  ScriptedReply,
  ScriptedTranscript,
} from '../../../fixtures/vendors/scripted-realtime-model.js'
import { OPENAI_REALTIME } from '../../vendors/vendor-ids.js'
import type { ToolSpec } from '../agent-spec.js'
import type { Turn } from '../conversation-events.js'
import { openRealtimeConversation } from './realtime-conversation.js'

/*
 * Random conversations: callers who speak at any time, a model that answers, stalls, calls tools and loses
 * its connection. The invariants are checked at the end.
 */

const SCENARIOS = 30
const LENGTH_MS = 40_000
/** Longest silence of the agent in its turn. */
const DEAD_AIR_MS = 3000

const TOOLS: readonly ToolSpec[] = [
  { name: 'end_call', description: '', parameters: [], speech: {}, action: { kind: 'end_call' } },
  { name: 'look', description: '', parameters: [], speech: {}, action: { kind: 'mock', response: 'Nine.' } },
]
const SENTENCE = 'That is a fine day for a visit and we have a place for you at nine in the morning.'

function pick<T>(random: Random, ...from: readonly T[]): T {
  return from[Math.floor(random.next() * from.length)] as T
}

function someReply(random: Random): ScriptedReply {
  const ms = Math.round(random.between(300, 6000))
  const words = SENTENCE.slice(0, Math.max(5, Math.round(ms / 70)))
  const afterMs = Math.round(random.between(50, 1200))
  const items = [{ words, ms, leadMs: pick(random, 0, 0, 200) }]
  const chance = random.next()
  if (chance < 0.06) return { stall: true }
  if (chance < 0.1) return { afterMs, fail: pick(random, 'vendor_failed', 'vendor_rate_limited') }
  if (chance < 0.14) return { afterMs, items, fail: 'vendor_failed' }
  if (chance < 0.2) return { afterMs, items, endless: true }
  if (chance < 0.32)
    return { afterMs, items: pick(random, [], items), calls: [{ id: 'c', name: 'look', arguments: {} }] }
  if (chance < 0.34) return { afterMs, items, calls: [{ id: 'c', name: 'end_call', arguments: {} }] }
  if (chance < 0.42) return { afterMs, items: [...items, { words: 'And so on.', ms: 700 }] }
  return { afterMs, items }
}

function someWords(random: Random): ScriptedTranscript {
  const text = pick(
    random,
    'When are you open?',
    'Stop.',
    'mm-hmm',
    'haan',
    '',
    'One two three four five.',
    null,
  )
  return { text, afterMs: Math.round(random.next() < 0.05 ? 8000 : random.between(50, 1500)) }
}

async function scenario(seed: number): Promise<string[]> {
  const random = seeded(seed)
  const rig = new ConversationRig({
    open: openRealtimeConversation,
    realtimeModel: {
      turnEnd: random.next() < 0.7,
      silenceMs: pick(random, 200, 500, 900, 3000),
      longestMs: pick(random, null, 20_000),
      phraseMs: random.next() < 0.1 ? null : 60,
    },
    spec: {
      openingLine: pick(random, null, 'Good morning.'),
      hangupLine: pick(random, null, 'Goodbye.'),
      tools: TOOLS,
      nudges: { enabled: true, hangupAfter: true, steps: [{ afterSeconds: 6, text: 'Are you there?' }] },
      speechToText: { vendor: OPENAI_REALTIME, model: 'm', language: 'en-IN', mode: 'transcribe' },
      textToSpeech: { vendor: OPENAI_REALTIME, model: 'm', voice: 'marin', pace: 1 },
      languageModel: { vendor: OPENAI_REALTIME, model: 'm' },
    },
  })
  const model = rig.realtimeModel as ScriptedRealtimeModel
  for (let i = 0; i < 40; i++) {
    model.replies.push(someReply(random))
    model.transcripts.push(someWords(random))
  }
  await rig.start()
  while (rig.nowMs < LENGTH_MS && rig.eventsOf('finished').length === 0) {
    const chance = random.next()
    if (chance < 0.03) model.break(pick(random, 'vendor_failed', 'vendor_unreachable'))
    else if (chance < 0.08) rig.press('5')
    else if (chance < 0.6) rig.callerSound(0, { ms: Math.round(random.between(60, 2500)), text: null })
    await rig.run(random.between(200, 4000))
  }
  const finished = rig.eventsOf('finished').length
  const endedMs = rig.nowMs
  const timers = rig.close()
  const told = rig.events.length
  await rig.run(6000)
  const wrong = [...model.violations]
  if (timers > 0) wrong.push(`${timers} timers are left`)
  if (model.connections > 0) wrong.push(`${model.connections} connections are left`)
  if (rig.events.length > told) wrong.push('told something after the end')
  if (finished > 1) wrong.push('ended twice')
  if (rig.eventsOf('usage').length !== 1) wrong.push('no account at the end')
  for (const { heardText, text, startMs, endMs } of rig.turns('agent')) {
    if (!text.startsWith(heardText)) wrong.push(`heard "${heardText}" of "${text}"`)
    if (endMs < startMs) wrong.push('a turn that ends before it begins')
  }
  return [...wrong, ...deadAir(rig, endedMs)]
}

/** Returns the caller's turns that were not answered in time. */
function deadAir(rig: ConversationRig, endedMs: number): string[] {
  const agent = rig.turns('agent')
  const caller = rig.turns('caller')
  const over = (turn: Turn) =>
    agent.some(({ startMs, endMs, cutAtMs }) => {
      return cutAtMs === undefined && startMs <= turn.endMs && turn.endMs <= endMs + 300
    })
  return caller.flatMap((turn): string[] => {
    const limitMs = turn.endMs + DEAD_AIR_MS
    if (limitMs > endedMs || over(turn)) return []
    const spoke = rig.frames.some(({ atMs, pcm }) => pcm !== null && atMs >= turn.endMs && atMs <= limitMs)
    const goesOn = rig.callerSounds.some(({ fromMs }) => fromMs > turn.endMs - 300 && fromMs < limitMs)
    return spoke || goesOn ? [] : [`nothing was heard after "${turn.text}" at ${turn.endMs}`]
  })
}

t.test(`${SCENARIOS} random conversations`, async (t) => {
  for (let seed = 1; seed <= SCENARIOS; seed++) {
    const wrong = await scenario(seed)
    if (wrong.length > 0) t.fail(`seed ${seed}: ${wrong.join('; ')}`)
  }
  t.pass('all of them')
})
