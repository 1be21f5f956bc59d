import t from 'tap'
import { begun } from '../../../fixtures/rigs/conversation-starts.js'
import type { TurnTakingSpec } from '../agent-spec.js'

/* The agent's own "hm" while the caller speaks for long, as it goes out. */

const BALANCED: TurnTakingSpec = {
  preset: 'balanced',
  maxWaitMs: null,
  interruption: { minMs: null, minWords: 0 },
}
const STORY = 'My parcel was due on Monday and then on Tuesday and it has not come yet'

/** The caller tells a story of 12 s. Returns what the agent sent meanwhile: start and length (ms). */
async function listening(
  backchannels: boolean | undefined,
  partials: readonly (readonly [number, string])[],
) {
  const rig = await begun({
    spec: { turnTaking: { ...BALANCED, ...(backchannels === undefined ? {} : { backchannels }) } },
  })
  rig.callerSound(0, { ms: 12_000, text: STORY, partials })
  await rig.run(12_000)
  const sounds: { readonly fromMs: number; ms: number }[] = []
  for (const { atMs, pcm } of rig.frames) {
    if (pcm === null) continue
    const last = sounds.at(-1)
    if (last !== undefined && last.fromMs + last.ms === atMs) last.ms += 20
    else sounds.push({ fromMs: atMs, ms: 20 })
  }
  await rig.until(() => rig.turns('agent').length === 1)
  return { rig, sounds }
}

/** More words every two seconds, as a recogniser sends them. */
const WORDS = STORY.split(' ')
  .slice(0, 12)
  .flatMap((_, i, words) => (i % 2 === 1 ? [[(i + 1) * 950, words.slice(0, i + 1).join(' ')] as const] : []))

t.test('every five seconds, one after the other, and not as a turn', async (t) => {
  const { rig, sounds } = await listening(true, WORDS)
  t.equal(sounds.length, 2)
  const [first, second] = sounds
  t.ok((first?.fromMs ?? 0) >= 5000 && (first?.fromMs ?? 0) <= 5200, `${first?.fromMs} ms`)
  t.ok((second?.fromMs ?? 0) >= 10_000 && (second?.fromMs ?? 0) <= 10_300, `${second?.fromMs} ms`)
  // "Hm." and "I see." at 60 ms a letter.
  t.equal(first?.ms, 180)
  t.equal(second?.ms, 360)
  t.same(rig.eventSummary(), [`caller: ${STORY}`, 'trace', 'agent: Answer 1.'])
  t.same(rig.contextLines(), [`user: ${STORY}`])
  t.equal(rig.close(), 0)
})

t.test('none without the setting, and nothing else changes', async (t) => {
  const { rig: without, sounds } = await listening(undefined, WORDS)
  const { rig: off, sounds: none } = await listening(false, WORDS)
  const { rig: on } = await listening(true, WORDS)
  t.same([sounds, none], [[], []])
  t.same(on.turns('agent')[0]?.startMs, without.turns('agent')[0]?.startMs)
  t.same(off.turns('agent')[0]?.startMs, without.turns('agent')[0]?.startMs)
})

t.test('an answer cuts it', async (t) => {
  const rig = await begun({ spec: { turnTaking: { ...BALANCED, backchannels: true } } })
  rig.callerSound(0, {
    ms: 4900,
    text: 'When are you open?',
    partials: [[300, 'When are']],
    finalAfterMs: 20,
  })
  rig.modelScripts.push([
    { after: 0, text: 'At nine.' },
    { after: 0, done: true },
  ])
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'At nine.')
  t.equal(rig.close(), 0)
})
