/** What a DND register is asked about one number. */
export interface RegisterQuestion {
  readonly e164: string
  readonly purpose: string
  /** Principal entity of the organization at the DLT operators, or null. */
  readonly peId: string | null
  /** Unix ms. */
  readonly at: number
}

export type RegisterAnswer =
  | {
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
  /** The register could not be asked or does not know. */
  | { readonly state: 'unknown' }

/** Looks numbers up on a register of customers' preferences. Adapters: see `docs/compliance.md`. */
export interface DndRegister {
  /** Name of the adapter, stored with each answer. */
  readonly name: string
  /** Price of an answer that is not `unknown` (paise). The organization pays it. */
  readonly feePaise: number
  /** Never rejects: an error is `unknown`. */
  lookUp(question: RegisterQuestion): Promise<RegisterAnswer>
}
