import type { DndRegister } from '../../api/dnd-register.js'
import type { Db } from '../../db/database.js'
import { findScrubbed, SCRUB_REGISTER } from './scrub-store.js'

/** The one number of the sandbox that is listed. */
const LISTED = '+919000000001'
/** Numbers of one statement. */
const MAX_NUMBERS = 1_000

/** Register of the test environment. */
export const sandboxRegister: DndRegister = {
  name: 'sandbox',
  feePaise: 0,
  maxNumbers: MAX_NUMBERS,
  async lookUp({ e164s }) {
    const answerOf = (e164: string) => ({
      state: e164 === LISTED ? ('listed' as const) : ('not_listed' as const),
      ...{ category: null, reference: null, validUntil: null },
    })
    return new Map(e164s.map((e164) => [e164, answerOf(e164)]))
  },
}

/** Answers from the latest imported scrub file that holds a number and is valid. `importScrub` fills them. */
export function scrubRegister(db: Db): DndRegister {
  return {
    name: SCRUB_REGISTER,
    feePaise: 0,
    maxNumbers: MAX_NUMBERS,
    async lookUp({ e164s, at }) {
      const found = await findScrubbed(db, e164s, at)
      return new Map(
        found.map(({ e164, state, category, sha256, scrubbedAt, validUntil }) => [
          e164,
          { state, category, reference: `sha256:${sha256}`, checkedAt: scrubbedAt, validUntil },
        ]),
      )
    },
  }
}
