/** Question to a DND register about one or several numbers. */
export interface RegisterQuestion {
  /** At least one, at most `maxNumbers` of the register, none twice. */
  readonly e164s: readonly string[]
  readonly purpose: string
  /** Principal entity of the organization at the DLT operators, or null. */
  readonly peId: string | null
  /** Unix ms. */
  readonly at: number
}

export interface RegisterAnswer {
  readonly state: 'listed' | 'not_listed'
  /** Category or mode that is blocked, in the words of the register, or null. */
  readonly category: string | null
  /** The register's own reference of the scrub, or null. */
  readonly reference: string | null
  /** Unix ms. When the register answered, if it was before the question. */
  readonly checkedAt?: number
  /** Unix ms. The answer is kept until then, at most until the IST day ends. */
  readonly validUntil: number | null
}

/** Looks numbers up on a register of customers' preferences. Adapters: see `docs/compliance.md`. */
export interface DndRegister {
  /** Name of the adapter, stored with each answer. */
  readonly name: string
  /** Price of an answer about one number (paise). The organization pays it. */
  readonly feePaise: number
  /** Numbers that one question may name. */
  readonly maxNumbers: number
  /**
   * Answers by number. A number without an answer is unknown: the register does not know it or could not be asked.
   * Never rejects.
   */
  lookUp(question: RegisterQuestion): Promise<ReadonlyMap<string, RegisterAnswer>>
}
