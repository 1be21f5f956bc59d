import type { DndRegister } from '../../api/dnd-register.js'
import type { Db } from '../../db/database.js'
import { findScrubbed, SCRUB_REGISTER } from './scrub-store.js'

/** The one number of the sandbox that is listed. */
const LISTED = '+919000000001'

/** Register of the test environment. */
export const sandboxRegister: DndRegister = {
  name: 'sandbox',
  feePaise: 0,
  async lookUp({ e164 }) {
    const state = e164 === LISTED ? 'listed' : 'not_listed'
    return { state, category: null, reference: null, validUntil: null }
  },
}

/** Answers from the latest imported scrub file that holds the number and is valid. `importScrub` fills them. */
export function scrubRegister(db: Db): DndRegister {
  return {
    name: SCRUB_REGISTER,
    feePaise: 0,
    async lookUp({ e164, at }) {
      const found = await findScrubbed(db, e164, at)
      if (found === null) return { state: 'unknown' }
      const { state, category, sha256, scrubbedAt, validUntil } = found
      return { state, category, reference: `sha256:${sha256}`, checkedAt: scrubbedAt, validUntil }
    },
  }
}
