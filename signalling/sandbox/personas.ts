import type { PersonaCue, PersonaSpec, ScriptedUtterance } from '../../media/agent/agent-spec.js'
import { EngineError } from '../../media/base/errors.js'
import type { ClipManifest } from './clip-manifest.js'

/*
 * The simulated people, as data.
 */

type PersonaStep =
  | { readonly cue: PersonaCue; readonly say: string }
  | { readonly cue: PersonaCue; readonly press: string }
  | { readonly cue: PersonaCue; readonly act: 'stop_media' | 'hang_up' }

interface PersonaScript {
  readonly steps: readonly PersonaStep[]
  readonly loopFrom?: number
}

/** How the sandbox carrier handles an INVITE to one of its numbers. */
export type Behaviour =
  | { readonly kind: 'refuse'; readonly status: 486 | 503 }
  /** Rings until the caller cancels. */
  | { readonly kind: 'ring' }
  | { readonly kind: 'answer'; readonly persona: PersonaName }

const whenSilent = (ms: number): PersonaCue => ({ kind: 'agent_silent', ms })
const whileSpeaking = (ms: number): PersonaCue => ({ kind: 'agent_speaking', ms })
const after = (ms: number): PersonaCue => ({ kind: 'after', ms })

/**
 * Silence of the agent (ms) after which the persona speaks: longer than the agent's pauses between sentences.
 */
const TURN_MS = 900
/** Time (ms) for the agent's own goodbye, which may also end the call first. */
const FAREWELL_MS = 4000
const hangUp = (cue: PersonaCue): PersonaStep => ({ cue, act: 'hang_up' })
const POLITE: readonly PersonaStep[] = [
  { cue: whenSilent(TURN_MS), say: 'hello' },
  { cue: whenSilent(TURN_MS), say: 'tell-me-more' },
  { cue: whenSilent(TURN_MS), say: 'book-tomorrow' },
  { cue: whenSilent(TURN_MS), say: 'thank-you-bye' },
  hangUp(after(FAREWELL_MS)),
]

const PERSONAS = {
  polite: { steps: POLITE },
  voicemail: {
    steps: [
      { cue: after(600), say: 'voicemail-greeting' },
      { cue: after(200), say: 'beep' },
      // The usual limit of a mailbox for one message.
      hangUp(after(60_000)),
    ],
  },
  media_dies: {
    steps: [
      { cue: whenSilent(TURN_MS), say: 'hello' },
      { cue: after(300), act: 'stop_media' },
    ],
  },
  no_more_calls: {
    steps: [
      { cue: whenSilent(TURN_MS), say: 'no-more-calls' },
      { cue: whenSilent(TURN_MS), say: 'thank-you-bye' },
      hangUp(after(FAREWELL_MS)),
    ],
  },
  wants_person: {
    steps: [
      { cue: whenSilent(TURN_MS), say: 'want-person' },
      { cue: whenSilent(TURN_MS), say: 'thank-you-bye' },
      hangUp(after(FAREWELL_MS)),
    ],
  },
  talks_forever: {
    steps: [
      { cue: after(500), say: 'forever-1' },
      { cue: after(250), say: 'forever-2' },
      { cue: after(250), say: 'forever-3' },
    ],
    loopFrom: 0,
  },
  interrupts: {
    steps: [
      { cue: whileSpeaking(1200), say: 'interrupt-wait' },
      { cue: whileSpeaking(900), say: 'interrupt-question' },
      { cue: whileSpeaking(900), say: 'interrupt-price' },
      // The agent may finish now.
      { cue: whenSilent(TURN_MS), say: 'thank-you-bye' },
      hangUp(after(FAREWELL_MS)),
    ],
  },
  silent: { steps: [] },
  presses_digits: {
    steps: [
      { cue: whenSilent(TURN_MS), press: '1' },
      { cue: after(1000), press: '42#' },
      // Time for the agent to read the digits back.
      { cue: after(5000), say: 'thank-you-bye' },
      hangUp(after(FAREWELL_MS)),
    ],
  },
  screening: {
    steps: [
      { cue: after(400), say: 'screening' },
      { cue: whenSilent(TURN_MS), say: 'who-is-this' },
      ...POLITE.slice(1),
    ],
  },
} as const satisfies Record<string, PersonaScript>

export type PersonaName = keyof typeof PERSONAS

export const PERSONA_NAMES: readonly string[] = Object.keys(PERSONAS)

export function isPersona(name: string): name is PersonaName {
  return Object.hasOwn(PERSONAS, name)
}

/** The persona of each test number; every other number answers politely. */
const NUMBERS: Readonly<Record<string, Behaviour>> = {
  '+919000000001': { kind: 'answer', persona: 'polite' },
  '+919000000002': { kind: 'refuse', status: 486 },
  '+919000000003': { kind: 'ring' },
  '+919000000004': { kind: 'answer', persona: 'voicemail' },
  '+919000000005': { kind: 'refuse', status: 503 },
  '+919000000006': { kind: 'answer', persona: 'media_dies' },
  '+919000000007': { kind: 'answer', persona: 'no_more_calls' },
  '+919000000008': { kind: 'answer', persona: 'wants_person' },
  '+919000000009': { kind: 'answer', persona: 'talks_forever' },
  '+919000000010': { kind: 'answer', persona: 'interrupts' },
  '+919000000011': { kind: 'answer', persona: 'silent' },
  '+919000000012': { kind: 'answer', persona: 'presses_digits' },
  '+919000000013': { kind: 'answer', persona: 'screening' },
}

const OTHERS: Behaviour = { kind: 'answer', persona: 'polite' }

/** Returns the behaviour of a dialled number, with or without the plus. */
export function behaviourOf(number: string): Behaviour {
  return NUMBERS[number.startsWith('+') ? number : `+${number}`] ?? OTHERS
}

/**
 * Returns the persona in the form a media worker plays. Throws EngineError `storage_failed` when a clip is
 * missing.
 */
export function personaSpec(name: PersonaName, clips: ClipManifest): PersonaSpec {
  const persona: PersonaScript = PERSONAS[name]
  const utterances: ScriptedUtterance[] = []
  const steps = persona.steps.map((step): PersonaSpec['steps'][number] => {
    const { cue } = step
    if ('press' in step) return { cue, act: { kind: 'press', digits: step.press } }
    if ('act' in step) return { cue, act: { kind: step.act } }
    const utterance = clips.get(step.say)
    if (!utterance) {
      throw new EngineError('storage_failed', 'a speech clip of the sandbox is missing', {
        context: { clip: step.say, persona: name },
      })
    }
    utterances.push(utterance)
    return { cue, act: { kind: 'say', utterance: utterances.length - 1 } }
  })
  const { loopFrom } = persona
  if (loopFrom === undefined) return { name, script: { utterances }, steps, loopFrom: null }
  // Every spoken step has its own utterance, in order.
  const repeatFrom = persona.steps.slice(0, loopFrom).filter((step) => 'say' in step).length
  return { name, script: { utterances, repeatFrom }, steps, loopFrom }
}
