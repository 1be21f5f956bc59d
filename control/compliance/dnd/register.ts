import type { Db } from '../../db/database.js'
import { findScrubbed, SCRUB_REGISTER } from './scrub-store.js'

/** What a DND register is asked about one number. */
export interface RegisterQuestion {
  readonly e164: string
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
  /** Never rejects: an error is `unknown`. */
  lookUp(question: RegisterQuestion): Promise<RegisterAnswer>
}

/** The one number of the sandbox that is listed. */
const LISTED = '+919000000001'

/** Register of the test environment. */
export const sandboxRegister: DndRegister = {
  name: 'sandbox',
  async lookUp({ e164 }) {
    const state = e164 === LISTED ? 'listed' : 'not_listed'
    return { state, category: null, reference: null, validUntil: null }
  },
}

/** Answers from the latest imported scrub file that holds the number and is valid. `importScrub` fills them. */
export function scrubRegister(db: Db): DndRegister {
  return {
    name: SCRUB_REGISTER,
    async lookUp({ e164, at }) {
      const found = await findScrubbed(db, e164, at)
      if (found === null) return { state: 'unknown' }
      const { state, category, sha256, scrubbedAt, validUntil } = found
      return { state, category, reference: `sha256:${sha256}`, checkedAt: scrubbedAt, validUntil }
    },
  }
}
