import type { Clock } from '../../../media/base/clock.js'
import { randomBase62 } from '../../base/crypto.js'
import type { PasswordHasher } from '../../base/passwords.js'
import type { Db } from '../../db/database.js'
import { insertUser } from './store.js'

export interface StaffUser {
  readonly email: string
  /** Shown once. Only its scrypt hash is stored. */
  readonly password: string
}

/**
 * Creates an account of the service's staff, which belongs to no organization. The operator vouches for the
 * address. Returns null when the address has an account already.
 */
export async function createStaffUser(
  { db, clock, passwords }: { readonly db: Db; readonly clock: Clock; readonly passwords: PasswordHasher },
  email: string,
): Promise<StaffUser | null> {
  const password = randomBase62(20)
  const passwordHash = await passwords.hash(password)
  const now = clock.wall()
  const account = { email, name: 'Staff', passwordHash, emailVerifiedAt: now, staff: 1 } as const
  return (await insertUser(db, now, account)) === null ? null : { email, password }
}
