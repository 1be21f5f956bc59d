import type { Deps } from '../../api/deps.js'
import { timestamp } from '../../base/schemas.js'
import type { User } from '../accounts/store.js'
import { hasFactor } from '../factors/store.js'
import { csrfToken, type Session } from './sessions.js'

/** Returns a session as the API shows it. */
export async function sessionRecord(
  { db, rootKey }: Pick<Deps, 'db' | 'rootKey'>,
  user: User,
  session: Pick<Session, 'id' | 'expiresAt' | 'factorAt'>,
) {
  const organizations = await db
    .selectFrom('members as m')
    .innerJoin('organizations as o', 'o.id', 'm.organizationId')
    .leftJoin('organizationProfiles as p', 'p.organizationId', 'm.organizationId')
    .where('m.userId', '=', user.id)
    .select(['o.id', 'o.name', 'm.role', 'p.requireSecondFactor'])
    .orderBy('m.createdAt')
    .orderBy('o.id')
    .execute()
  const { id, email, name, staff } = user
  return {
    user: { id, email, name, staff: staff === 1 },
    organizations: organizations.map(({ requireSecondFactor, ...organization }) => ({
      ...organization,
      requireSecondFactor: requireSecondFactor === 1,
    })),
    secondFactor: { enrolled: await hasFactor(db, user.id), proven: session.factorAt !== null },
    csrfToken: csrfToken(rootKey, session.id),
    expiresAt: timestamp(session.expiresAt),
  }
}

export function userOf({ db }: Pick<Deps, 'db'>, userId: string): Promise<User> {
  return db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
}
