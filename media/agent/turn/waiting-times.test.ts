import t from 'tap'
import { checkPageTable } from '../../../fixtures/host/page-table.js'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import type { TurnTakingSpec } from '../agent-spec.js'
import {
  FIRST_AUDIO_LIMIT_MS,
  FIRST_AUDIO_OF_LAST_MS,
  FIRST_AUDIO_WITH_FALLBACK_MS,
} from '../tts/synthesis.js'
import { policyFor, type TurnPolicy, VAD_START_MS, VAD_STOP_MS } from './turn-policy.js'
import { TURN_PRESETS } from './turn-presets.js'

/** Times that the settings of the agent give. */
type Given = 'maxCallMs' | 'hangupLineMs' | 'hangupAfterMs' | 'nudgesMs' | 'waitMs' | 'backchannelAfterMs'
type TimeName = Exclude<Extract<keyof TurnPolicy, `${string}Ms`>, Given>

/** Every time of the policy in the order of the table, with its meaning. */
const MEANINGS: Readonly<Record<TimeName, string>> = {
  confirmSpeechMs: 'speech without words that interrupts the agent',
  confirmBackchannelMs: 'the same while the words so far are a backchannel',
  resumeAfterMs: 'silence after a sound that was none, before the agent goes on',
  pauseLimitMs: 'longest pause of the agent for a sound',
  wordlessMs: 'sound without words that counts as noise',
  afterWordsMs: 'the same after the end of words',
  minUnheardMs: 'shorter sound without words leads to no question',
  finalDeadlineMs: 'longest wait for a final text, from the last sound',
  digitsIdleMs: 'silence after the last key',
  digitsPartMs: 'the same within a number that the agent asked for',
  modelFirstTokenMs: 'wait for the first token of the model',
  modelSlowMs: 'wait for it before the filler phrase, or before another model is asked',
  modelStallMs: 'gap between two tokens',
  modelProgressMs: 'wait for the first token while the model shows that it works',
  apologiseAfterMs: 'a failure this late is apologised for',
  retryDelayMs: 'before the third attempt, then doubled',
  retryWindowMs: 'time in which quick failures allow more attempts',
  toolsFirstMs: 'tools without audio before the first filler phrase',
  toolsLatestMs: 'latest first filler phrase, from the last sound',
  toolsAgainMs: 'between filler phrases',
  maxAgentSilenceMs: 'longest silence of the agent in its turn',
  clauseLimitMs: 'longest rest of a clause before an announcement',
  tailMs: 'from the last sample to the end of the call',
  endingLimitMs: 'longest last phrase',
  recordingWaitMs: 'longest wait for a voicemail to record',
}

const PRESETS = Object.keys(TURN_PRESETS) as TurnTakingSpec['preset'][]

function policyOf(preset: TurnTakingSpec['preset'], models = 1): TurnPolicy {
  const turnTaking: TurnTakingSpec = { preset, maxWaitMs: null, interruption: { minMs: null, minWords: 0 } }
  // A vendor that declares more gets no more.
  const limits = {
    finalDeadlineMs: 5000,
    firstTokenDeadlineMs: 1800,
    understandsSpeech: true,
    partials: true,
  }
  return policyFor({ ...DEFAULT_SPEC, turnTaking }, { ...limits, models })
}

t.test('docs/turn-taking.md shows the times of the code', async (t) => {
  const policies = PRESETS.map((preset) => policyOf(preset))
  const fixed = (name: string, value: number, meaning: string) => [
    name,
    ...PRESETS.map(() => String(value)),
    meaning,
  ]
  checkPageTable(t, 'docs/turn-taking.md', [
    ['Time', ...PRESETS, 'Meaning'],
    fixed('detector: onset', VAD_START_MS, 'sound that begins speech'),
    fixed('detector: offset', VAD_STOP_MS, 'silence that ends speech'),
    ...Object.entries(MEANINGS).map(([name, meaning]) => [
      `\`${name}\``,
      ...policies.map((policy) => String(policy[name as TimeName])),
      meaning,
    ]),
    fixed('voice: alone', FIRST_AUDIO_OF_LAST_MS, 'first audio of the last voice'),
    fixed('voice: embedded spare', FIRST_AUDIO_LIMIT_MS, 'first audio when only the embedded voice is left'),
    fixed(
      'voice: hosted spare',
      FIRST_AUDIO_WITH_FALLBACK_MS,
      'first audio when another hosted voice is left',
    ),
  ])
})

t.test('no chain of waits leaves three seconds of dead air', async (t) => {
  const DEAD_AIR_MS = 3000
  for (const preset of ['fast', 'balanced'] as const) {
    for (const models of [1, 2]) {
      const policy = policyOf(preset, models)
      const longestWaitMs = Math.max(
        ...Object.values(policy.waitMs).flatMap((wait) => [
          wait.ifContinuing,
          wait.maxFromPauses,
          wait.usual,
        ]),
      )
      const chains = {
        'the final text is late': policy.finalDeadlineMs,
        'the caller may go on': longestWaitMs,
        'the agent is silent': policy.maxAgentSilenceMs,
        'the first filler phrase': policy.toolsLatestMs,
        'the next filler phrase': policy.toolsAgainMs,
        'a pause for a sound': policy.pauseLimitMs + policy.resumeAfterMs,
        'a clause before an announcement': policy.clauseLimitMs,
        'two models in turn':
          models > 1 ? 2 * policy.modelFirstTokenMs + policy.retryDelayMs : policy.modelSlowMs,
        'two voices in turn': FIRST_AUDIO_LIMIT_MS + FIRST_AUDIO_OF_LAST_MS,
      }
      for (const [chain, ms] of Object.entries(chains))
        t.ok(ms < DEAD_AIR_MS, `${preset}, ${models} models, ${chain}: ${ms} ms`)
      t.ok(longestWaitMs <= policy.maxAgentSilenceMs, 'the agent is audible after the longest wait')
    }
  }
})

t.test('an agent that waits longer may be silent for as much longer', async (t) => {
  const extraMs = (preset: TurnTakingSpec['preset']) =>
    Math.max(...Object.values(policyOf(preset).waitMs).map(({ ifContinuing }) => ifContinuing))
  t.equal(
    policyOf('patient').maxAgentSilenceMs - policyOf('balanced').maxAgentSilenceMs,
    extraMs('patient') - extraMs('balanced'),
  )
})
