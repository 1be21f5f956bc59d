/* Counts the use that a conversation makes of its vendors, as input to its cost. It holds no words. */

export interface RecognitionUsage {
  readonly vendor: string
  readonly model: string | null
  /** Audio sent to the recogniser (ms). */
  readonly audioMs: number
}

export interface ModelUsage {
  readonly vendor: string
  readonly model: string
  readonly requests: number
  /**
   * Requests for which the vendor reported tokens. A cancelled request reports none but may still be billed.
   */
  readonly counted: number
  /** Tokens of the counted requests. Null when no request was counted. */
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  /** The audio part of these tokens, which has its own price. Absent for a text model. */
  readonly sound?: SoundTokens
}

/** Audio tokens, and the cached part of the prompt tokens. */
export interface SoundTokens {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
}

export interface SpeechUsage {
  readonly vendor: string
  readonly model: string | null
  readonly requests: number
  /** Length of the synthesised texts (UTF-16 units). */
  readonly characters: number
}

/** Usage by vendor and model, in the order of first use. */
export interface Usage {
  readonly recognition: readonly RecognitionUsage[]
  readonly models: readonly ModelUsage[]
  readonly speech: readonly SpeechUsage[]
}

export interface TokenCount {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly sound?: SoundTokens
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Sums up usage until `take`. */
export class UsageMeter {
  #recognition: Mutable<RecognitionUsage>[] = []
  #models: Mutable<ModelUsage>[] = []
  #speech: Mutable<SpeechUsage>[] = []

  audioRecognised(vendor: string, model: string | null, audioMs: number): void {
    const entry = entryOf(this.#recognition, vendor, model, () => ({ vendor, model, audioMs: 0 }))
    entry.audioMs += audioMs
  }

  modelRequested(vendor: string, model: string): void {
    this.#model(vendor, model).requests++
  }

  modelAnswered(vendor: string, model: string, tokens: TokenCount | null): void {
    if (tokens === null) return
    const entry = this.#model(vendor, model)
    entry.counted++
    entry.promptTokens = (entry.promptTokens ?? 0) + tokens.promptTokens
    entry.completionTokens = (entry.completionTokens ?? 0) + tokens.completionTokens
    if (tokens.sound !== undefined) entry.sound = added(entry.sound, tokens.sound)
  }

  textSynthesised(vendor: string, model: string | null, characters: number): void {
    const entry = this.#spoken(vendor, model)
    entry.requests++
    entry.characters += characters
  }

  /** Adds what was counted elsewhere. */
  add({ recognition, models, speech }: Usage): void {
    for (const { vendor, model, audioMs } of recognition) this.audioRecognised(vendor, model, audioMs)
    for (const { vendor, model, requests, counted, promptTokens, completionTokens, sound } of models) {
      const entry = this.#model(vendor, model)
      entry.requests += requests
      entry.counted += counted
      if (promptTokens !== null) entry.promptTokens = (entry.promptTokens ?? 0) + promptTokens
      if (completionTokens !== null) entry.completionTokens = (entry.completionTokens ?? 0) + completionTokens
      if (sound !== undefined) entry.sound = added(entry.sound, sound)
    }
    for (const { vendor, model, requests, characters } of speech) {
      const entry = this.#spoken(vendor, model)
      entry.requests += requests
      entry.characters += characters
    }
  }

  /** Returns the usage since the last `take`. */
  take(): Usage {
    const taken: Usage = {
      recognition: this.#recognition.map((entry) => ({ ...entry, audioMs: Math.round(entry.audioMs) })),
      models: this.#models,
      speech: this.#speech,
    }
    this.#recognition = []
    this.#models = []
    this.#speech = []
    return taken
  }

  get isEmpty(): boolean {
    return this.#recognition.length + this.#models.length + this.#speech.length === 0
  }

  #spoken(vendor: string, model: string | null): Mutable<SpeechUsage> {
    return entryOf(this.#speech, vendor, model, () => ({ vendor, model, requests: 0, characters: 0 }))
  }

  #model(vendor: string, model: string): Mutable<ModelUsage> {
    return entryOf(this.#models, vendor, model, () => ({
      vendor,
      model,
      requests: 0,
      counted: 0,
      promptTokens: null,
      completionTokens: null,
    }))
  }
}

/** Returns the sum of several usages. */
export function sumUsage(parts: readonly Usage[]): Usage {
  const meter = new UsageMeter()
  for (const part of parts) meter.add(part)
  return meter.take()
}

function added(before: SoundTokens | undefined, more: SoundTokens): SoundTokens {
  return {
    promptTokens: (before?.promptTokens ?? 0) + more.promptTokens,
    completionTokens: (before?.completionTokens ?? 0) + more.completionTokens,
    cachedTokens: (before?.cachedTokens ?? 0) + more.cachedTokens,
  }
}

function entryOf<T extends { readonly vendor: string; readonly model: string | null }>(
  entries: T[],
  vendor: string,
  model: string | null,
  make: () => T,
): T {
  const found = entries.find((entry) => entry.vendor === vendor && entry.model === model)
  if (found) return found
  const made = make()
  entries.push(made)
  return made
}
