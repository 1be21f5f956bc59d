import type { AgentVoice } from './agent-voice.js'
import { ConversationContext } from './context.js'
import type { TurnId } from './events.js'
import type { Floor } from './floor.js'
import { languageOf } from './language.js'
import type { ModelChain } from './model-chain.js'
import { startModelJob } from './model-job.js'
import type { Cancellable, ToolCall } from './ports.js'
import type { AgentSpec } from './spec.js'
import { spokenForm } from './spoken-form.js'
import { ToolRounds } from './tool-rounds.js'
import { declarations, fillerOf, type ToolRunner } from './tools.js'
import type { TurnTracer } from './trace.js'
import type { CallerTurn, TurnEffect } from './turn-types.js'

export interface ReplyMakerOptions {
  readonly spec: AgentSpec
  readonly models: ModelChain
  readonly tools: ToolRunner
  readonly voice: AgentVoice
  readonly floor: Floor
  readonly tracer: TurnTracer
}

/** Where the agent's replies come from, as the conversation orders them. */
export interface Replies {
  /** `mayUseTools` false: the model can only answer. */
  ask(order: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void
  cancelModel(): void
  /** The model failed; who it was, and which other one is asked instead when it is asked `again`. */
  modelFailed?(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null }
  /** Ends sound and jobs of a reply. */
  stop(turn: TurnId): void
  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void
  commitCaller(caller: CallerTurn, forModel: boolean): void
  /** Nothing is told any more. */
  close(): void
}

/** Makes replies: asks the model, runs its tools, hands sentences to the voice, keeps what was said. */
export class ReplyMaker implements Replies {
  readonly #spec: AgentSpec
  readonly #models: ModelChain
  readonly #tools: ToolRounds
  readonly #voice: AgentVoice
  readonly #floor: Floor
  readonly #tracer: TurnTracer
  readonly #context: ConversationContext
  #job: Cancellable | null = null

  constructor({ spec, models, tools, voice, floor, tracer }: ReplyMakerOptions) {
    this.#spec = spec
    this.#models = models
    this.#voice = voice
    this.#floor = floor
    this.#tracer = tracer
    this.#context = new ConversationContext(spec.systemPrompt, spec.languages)
    this.#tools = new ToolRounds(spec.tools, tools, {
      used: ({ name, arguments: given }, result) =>
        floor.emit({ type: 'tool', name, arguments: given, result, atMs: floor.now() }),
      late: ({ name }, result) => this.#context.toolCameLate(name, result),
    })
  }

  /** `mayUseTools` false: the model can only answer. */
  ask({ turn, caller }: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void {
    const floor = this.#floor
    const tracer = this.#tracer
    this.cancelModel()
    const choice = this.#models.next(turn)
    const { model } = choice
    const vendor = choice.vendor.id
    this.#context.callerSpeaks(floor.language.current)
    tracer.mark(turn, 'modelRequestMs')
    tracer.asked(vendor, model)
    const request = {
      model,
      messages: this.#context.messages(caller?.text ?? null, this.#tools.messages),
      tools: mayUseTools ? declarations(this.#spec.tools) : [],
    }
    this.#job = startModelJob(choice.vendor, request, {
      token: () => {
        tracer.mark(turn, 'modelFirstTokenMs')
        floor.feed({ on: 'token', turn, at: floor.now() })
      },
      sentence: (text) => {
        tracer.mark(turn, 'firstSentenceMs')
        floor.feed({ on: 'sentence', turn, at: floor.now() })
        const language = languageOf(text, this.#spec.languages, floor.language.current)
        this.#voice.say(turn, spokenForm(text, language), language)
      },
      done: (text, calls, usage) => {
        this.#job = null
        tracer.answered(vendor, model, usage)
        this.#models.answered()
        this.#answered(turn, text, calls)
      },
      failed: ({ code, message }) => {
        this.#job = null
        floor.feed({ on: 'modelFailed', turn, code, message, at: floor.now() })
      },
    })
  }

  modelFailed(code: string, again: boolean) {
    return this.#models.failed(code, again)
  }

  cancelModel(): void {
    this.#job?.cancel()
    this.#job = null
  }

  /** Ends sound and jobs of a reply. */
  stop(turn: TurnId) {
    this.cancelModel()
    this.#tools.leave()
    return this.#voice.stop(turn)
  }

  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const spoken = this.stop(turn)
    if (!spoken) return
    const { text, heard, language, startMs, endMs, words } = spoken
    this.#context.agentSaid(heard, cutAtMs !== null, this.#tools.take())
    this.#floor.emit({
      type: 'turn',
      turn: {
        id: turn,
        speaker: 'agent',
        text,
        heardText: heard,
        language,
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        ...(cutAtMs === null ? {} : { cutAtMs: Math.round(cutAtMs) }),
        words,
      },
    })
  }

  commitCaller({ id, text, startMs, endMs, words }: CallerTurn, forModel: boolean): void {
    if (forModel) this.#context.callerSaid(text)
    this.#floor.emit({
      type: 'turn',
      turn: {
        id,
        speaker: 'caller',
        text,
        heardText: text,
        language: this.#floor.language.ofCaller(text),
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        words: words.length > 0 ? words : null,
      },
    })
  }

  /** Nothing is told any more. */
  close(): void {
    this.cancelModel()
    this.#tools.close()
  }

  #answered(turn: TurnId, text: string, calls: readonly ToolCall[]): void {
    const floor = this.#floor
    try {
      const pending = this.#tools.run(text, calls, (next) =>
        floor.feed({ on: 'modelDone', turn, next, at: floor.now() }),
      )
      if (pending === null) return
      const language = floor.language.current
      const filler = fillerOf(pending, language)
      floor.feed({ on: 'toolsRun', turn, bridged: filler !== null, at: floor.now() })
      if (filler !== null) this.#voice.say(turn, spokenForm(filler, language), language)
    } catch (error) {
      floor.failed(error)
    }
  }
}
