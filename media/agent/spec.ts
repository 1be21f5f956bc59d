/*
 * What a media worker is told about the party it plays. Plain data: it crosses a thread.
 */

/** A word and where it sounds, in ms from the start of the thing that carries it. */
export interface TimedWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
}

export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: readonly {
    readonly name: string
    readonly description: string
    readonly type: 'string' | 'number' | 'integer' | 'boolean'
    readonly required: boolean
  }[]
  /** `end_call` ends the call after the words of the same answer were spoken; `mock` answers `response`. */
  readonly action: { readonly kind: 'end_call' } | { readonly kind: 'mock'; readonly response: string }
}

/** One agent version, with variables filled in, as a conversation runs it. */
export interface AgentSpec {
  readonly agentId: string
  readonly agentVersionId: string
  readonly name: string
  readonly systemPrompt: string
  /** Spoken first, as soon as media is live; null lets the caller begin. */
  readonly openingLine: string | null
  /** Spoken to the end before a hang-up by the agent or by a limit; null hangs up at once. */
  readonly hangupLine: string | null
  /** First is the default. Tags of the contract: `en-IN`, `hi-IN`, ... */
  readonly languages: readonly string[]
  readonly speechToText: { readonly vendor: string; readonly model: string | null }
  readonly textToSpeech: {
    readonly vendor: string
    readonly model: string | null
    readonly voice: string
    readonly pace: number
  }
  readonly languageModel: { readonly vendor: string; readonly model: string }
  readonly tools: readonly ToolSpec[]
  readonly nudges: {
    readonly enabled: boolean
    readonly hangupAfter: boolean
    readonly steps: readonly { readonly afterSeconds: number; readonly text: string }[]
  }
  readonly maxCallSeconds: number
}

/** One clip a simulated speaker says, in the order of the script. */
export interface ScriptedUtterance {
  /** Name of the clip in `fixtures/speech`. */
  readonly clip: string
  readonly text: string
  readonly language: string
  /** Words in ms from the clip's first sample; empty for a cough or other noise. */
  readonly words: readonly TimedWord[]
  /** Labelled first and last voiced sample of the clip, in ms. */
  readonly onsetMs: number
  readonly offsetMs: number
}

export interface SpeakerScript {
  readonly utterances: readonly ScriptedUtterance[]
  /**
   * A speaker who loops (`PersonaSpec.loopFrom`) begins again at this utterance after the last one;
   * absent when nothing more is said. Sandbox recognition places repeated speech by it.
   */
  readonly repeatFrom?: number
}

/** When a simulated far end does its next step. */
export type PersonaCue =
  /** After the agent spoke and then was silent for this long. */
  | { readonly when: 'agent_silent'; readonly ms: number }
  /** This long after the agent began to speak: in the middle of its sentence. */
  | { readonly when: 'agent_speaking'; readonly ms: number }
  /** This long after the previous step ended. */
  | { readonly when: 'after'; readonly ms: number }

export type PersonaAct =
  | { readonly do: 'say'; readonly utterance: number }
  | { readonly do: 'press'; readonly digits: string }
  | { readonly do: 'stop_media' }
  | { readonly do: 'hang_up' }

/** A simulated far end: what it does once its call is answered. Steps run in order, once each. */
export interface PersonaSpec {
  readonly name: string
  readonly script: SpeakerScript
  readonly steps: readonly { readonly cue: PersonaCue; readonly act: PersonaAct }[]
  /** Start again at this step after the last one; null to stay silent then. */
  readonly loopFrom: number | null
}
