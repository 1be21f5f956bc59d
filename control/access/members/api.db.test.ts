import t from 'tap'
import { openUsersApi, type SignedInUser } from '../../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import type { Role } from '../../db/tables/identity.js'
import { accessOperations } from '../api.js'
import { createKey } from '../keys/api-keys.js'

const DAY_MS = 86_400_000
const refusal = (code: string) => ({ body: { error: { code } } })

t.test('members and invitations', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations })
    const patch = (by: SignedInUser, userId: string, role: string) =>
      by.browser.send('PATCH', `/v1/organization/members/${userId}`, { json: { role } })
    const remove = (by: SignedInUser, userId: string) =>
      by.browser.send('DELETE', `/v1/organization/members/${userId}`)
    const invite = (by: SignedInUser, email: string, role: string) =>
      by.browser.send('POST', '/v1/organization/invitations', { json: { email, role } })
    const accept = (json: object) => api.send('POST', '/v1/invitations/accept', { key: null, json })
    const roleOf = async (userId: string, organizationId = api.organizationId) =>
      (
        await database.db
          .selectFrom('members')
          .where('userId', '=', userId)
          .where('organizationId', '=', organizationId)
          .select('role')
          .executeTakeFirst()
      )?.role

    await t.test('which role may change which member', async (t) => {
      const table: readonly [by: Role, target: Role, role: Role, status: number][] = [
        ['owner', 'viewer', 'owner', 200],
        ['owner', 'owner', 'viewer', 200],
        ['owner', 'admin', 'billing', 200],
        ['admin', 'viewer', 'developer', 200],
        ['admin', 'admin', 'viewer', 200],
        ['admin', 'viewer', 'owner', 403],
        ['admin', 'owner', 'viewer', 403],
        ['admin', 'owner', 'owner', 403],
        ['developer', 'viewer', 'developer', 403],
        ['viewer', 'viewer', 'developer', 403],
        ['billing', 'viewer', 'developer', 403],
      ]
      for (const [by, before, role, status] of table) {
        const actor = await api.member(by)
        const target = await api.member(before)
        const answer = await patch(actor, target.userId, role)
        t.equal(answer.status, status, `${by} makes ${before} ${role}`)
        t.equal(await roleOf(target.userId), status === 200 ? role : before)
        if (status === 200)
          t.match(answer.body, { data: { userId: target.userId, email: target.email, role } })
        else t.match(answer, refusal('forbidden'))
        const expected = status === 403 && (by !== 'admin' || before === 'owner') ? 403 : 204
        const current = status === 200 ? role : before
        if (by === 'admin' && current === 'owner') t.equal((await remove(actor, target.userId)).status, 403)
        else t.equal((await remove(actor, target.userId)).status, expected, `${by} removes ${current}`)
      }
    })

    await t.test('lists, foreign members and malformed ids', async (t) => {
      const owner = await api.member('owner')
      const list = await owner.browser.send('GET', '/v1/organization/members?limit=2')
      t.match(list, {
        status: 200,
        body: { data: [{ userId: owner.userId, email: owner.email, role: 'owner' }, {}] },
      })
      t.notMatch(JSON.stringify(list.body), /scrypt/)
      const stranger = await api.owner()
      t.match(await patch(owner, stranger.userId, 'viewer'), { status: 404, ...refusal('not_found') })
      t.match(await remove(owner, stranger.userId), { status: 404 })
      t.match(await patch(owner, 'usr_nonsense', 'viewer'), { status: 404 })
      t.match(await patch(owner, stranger.userId, 'emperor'), { status: 400, ...refusal('validation_error') })
      const listed = (await stranger.browser.send('GET', '/v1/organization/members')).body as {
        data: unknown[]
      }
      t.equal(listed.data.length, 1, 'each organization sees its own')
    })

    await t.test('whoever manages members sees who has a second factor', async (t) => {
      const owner = await api.owner()
      const { organizationId } = owner
      const admin = await api.member('admin', organizationId)
      const developer = await api.member('developer', organizationId)
      const factor = (userId: string, id: string, confirmedAt: number | null) =>
        database.db
          .insertInto('secondFactors')
          .values({
            ...{ id, userId, kind: 'totp', name: 'App', sealed: null, lastStep: null, credentialId: null },
            ...{ publicKey: null, counter: null, transports: null, rpId: null, challenge: null },
            ...{ createdAt: 1, expiresAt: null, confirmedAt, lastUsedAt: null },
          })
          .execute()
      await factor(admin.userId, `fac_${admin.userId}_1`, 2)
      await factor(admin.userId, `fac_${admin.userId}_2`, 3)
      await factor(developer.userId, `fac_${developer.userId}`, null)
      const seen = async ({ browser }: SignedInUser) => {
        const { body } = await browser.send('GET', '/v1/organization/members')
        const { data } = body as { data: { userId: string; hasSecondFactor: boolean | null }[] }
        return [owner, admin, developer].map(
          ({ userId }) => data.find((member) => member.userId === userId)?.hasSecondFactor,
        )
      }
      t.same(await seen(owner), [false, true, false], 'one that was not confirmed does not count')
      t.same(await seen(admin), [false, true, false])
      t.same(await seen(developer), [null, null, null])
      t.match(await patch(owner, admin.userId, 'developer'), { body: { data: { hasSecondFactor: true } } })
      t.same(await seen(admin), [null, null, null], 'the role of today counts')
    })

    await t.test('the last owner stays, also when two owners leave at the same time', async (t) => {
      const first = await api.owner()
      const { organizationId } = first
      t.match(await patch(first, first.userId, 'admin'), { status: 409, ...refusal('conflict') })
      t.match(await remove(first, first.userId), { status: 409, ...refusal('conflict') })
      t.equal((await patch(first, first.userId, 'owner')).status, 200, 'no change is no loss')
      for (let round = 0; round < 5; round++) {
        const second = await api.member('owner', organizationId)
        const owners = await database.db
          .selectFrom('members')
          .where('organizationId', '=', organizationId)
          .where('role', '=', 'owner')
          .select('userId')
          .execute()
        t.equal(owners.length, 2)
        const answers = await Promise.all([
          patch(first, second.userId, 'admin'),
          patch(second, first.userId, 'admin'),
        ])
        const statuses = answers.map(({ status }) => status).sort()
        t.same(statuses, [200, 403], 'the one demoted first cannot demote the other')
        const left = await database.db
          .selectFrom('members')
          .where('organizationId', '=', organizationId)
          .where('role', '=', 'owner')
          .select('userId')
          .execute()
        t.equal(left.length, 1)
        await database.db.deleteFrom('members').where('userId', '=', second.userId).execute()
        await database.db
          .updateTable('members')
          .set({ role: 'owner' })
          .where('userId', '=', first.userId)
          .execute()
      }
    })

    await t.test('a removed member loses access at once, and so do their API keys', async (t) => {
      const owner = await api.member('owner')
      const leaving = await api.member('admin')
      const key = await createKey(database.db, api.deps.rootKey, api.clock, {
        organizationId: api.organizationId,
        createdBy: leaving.userId,
        environment: 'test',
        name: 'theirs',
        scopes: ['admin'],
        expiresAt: null,
      })
      t.equal((await api.send('GET', '/v1/whoami', { key: key.key })).status, 200)
      t.equal((await remove(owner, leaving.userId)).status, 204)
      t.match(await api.send('GET', '/v1/whoami', { key: key.key }), {
        status: 403,
        ...refusal('insufficient_scope'),
      })
      t.match(await leaving.browser.send('GET', '/v1/organization/members'), {
        status: 403,
        ...refusal('forbidden'),
      })
    })

    await t.test('an invitation of a new user', async (t) => {
      const owner = await api.member('owner')
      const email = 'Neha@Example.in'
      t.match(await invite(owner, email, 'developer'), {
        status: 201,
        body: {
          data: {
            email: 'neha@example.in',
            role: 'developer',
            expiresAt: new Date(api.clock.wall() + 7 * DAY_MS).toISOString(),
          },
        },
      })
      const mail = await api.latestMailTo('neha@example.in')
      t.match(mail.subject, /invited to My workspace/)
      const token = await api.tokenFor('neha@example.in')
      t.match(
        await accept({ token }),
        {
          status: 400,
          body: {
            error: {
              code: 'validation_error',
              details: { issues: [{ path: 'name' }, { path: 'password' }] },
            },
          },
        },
        'a new account needs a name and a password, and the link is not used up',
      )
      const joined = await accept({ token, name: 'Neha', password: 'a good password' })
      t.match(joined, {
        status: 200,
        body: { data: { organizationId: api.organizationId, role: 'developer' } },
      })
      t.match(await accept({ token, name: 'Neha', password: 'a good password' }), {
        status: 400,
        ...refusal('invalid_token'),
      })
      const logIn = { email: 'neha@example.in', password: 'a good password' }
      t.match(await api.send('POST', '/v1/auth/login', { key: null, json: logIn }), {
        status: 200,
        body: { data: { organizations: [{ id: api.organizationId, role: 'developer' }] } },
      })
      t.match(
        await invite(owner, email, 'viewer'),
        { status: 409, ...refusal('conflict') },
        'a member already',
      )
    })

    await t.test('names in a mail cannot add lines to it', async (t) => {
      const { organizationId, ...owner } = await api.owner()
      // Earlier releases accepted such names.
      const set = { name: 'Clinic\n\nClick here:\u2028http://evil.example' }
      await database.db.updateTable('organizations').set(set).where('id', '=', organizationId).execute()
      await database.db.updateTable('users').set({ name: 'A\r\nB' }).where('id', '=', owner.userId).execute()
      t.equal((await invite(owner, 'reader@people.test', 'viewer')).status, 201)
      const { text } = await api.latestMailTo('reader@people.test')
      t.match(text, /^A B invites you to Clinic Click here: http:\/\/evil\.example with the role viewer\.$/m)
    })

    await t.test('an invitation of an existing user, a repeated one, and an expired one', async (t) => {
      const owner = await api.member('owner')
      const other = await api.owner()
      t.equal((await invite(owner, other.email, 'viewer')).status, 201)
      const first = await api.tokenFor(other.email)
      t.equal((await invite(owner, other.email, 'billing')).status, 201)
      const second = await api.tokenFor(other.email)
      t.match(
        await accept({ token: first }),
        { status: 400, ...refusal('invalid_token') },
        'replaced by the second',
      )
      api.clock.advance(7 * DAY_MS)
      t.match(await accept({ token: second }), { status: 400, ...refusal('token_expired') })
      const later = await api.member('owner')
      t.equal((await invite(later, other.email, 'billing')).status, 201)
      t.match(await accept({ token: await api.tokenFor(other.email) }), {
        status: 200,
        body: { data: { userId: other.userId } },
      })
      t.equal(await roleOf(other.userId), 'billing')
      t.equal(await roleOf(other.userId, other.organizationId), 'owner', 'their own is untouched')
    })

    await t.test('accepting twice at the same time, and during a sign-up of the address', async (t) => {
      const owner = await api.member('owner')
      const email = 'twice@people.test'
      t.equal((await invite(owner, email, 'viewer')).status, 201)
      const token = await api.tokenFor(email)
      const signUp = { email, password: 'signed up', name: 'S', organizationName: 'S' }
      const [first, second] = await Promise.all([
        accept({ token, name: 'A', password: 'first answer' }),
        accept({ token, name: 'B', password: 'second answer' }),
        api.send('POST', '/v1/signup', { key: null, json: signUp }),
      ])
      t.same([first?.status, second?.status].sort(), [200, 400])
      const users = await database.db.selectFrom('users').selectAll().where('email', '=', email).execute()
      t.match(users, [{ name: first?.status === 200 ? 'A' : 'B' }])
      t.not(users[0]?.emailVerifiedAt, null)
    })

    await t.test('an unverified account of another person does not join', async (t) => {
      const owner = await api.member('owner')
      const email = 'target@people.test'
      const json = { email, password: 'the squatter knows', name: 'Squatter', organizationName: 'Squat' }
      const squat = (await api.send('POST', '/v1/signup', { key: null, json })).body as {
        data: { userId: string }
      }
      t.equal((await invite(owner, email, 'admin')).status, 201)
      await api.latestMailTo(email)
      const mail = api.mails.findLast(({ to, text }) => to === email && text.includes('/accept-invitation?'))
      const token = /\?token=(\w+)/.exec(mail?.text ?? '')?.[1]
      t.match(await accept({ token }), { status: 400, ...refusal('validation_error') })
      t.match(await accept({ token, name: 'Target', password: 'only the target knows' }), {
        status: 200,
        body: { data: { userId: squat.data.userId } },
      })
      const logIn = (password: string) =>
        api.send('POST', '/v1/auth/login', { key: null, json: { email, password } })
      t.equal((await logIn('the squatter knows')).status, 401)
      t.match(await logIn('only the target knows'), {
        status: 200,
        body: { data: { user: { name: 'Target' } } },
      })
    })

    await t.test('open invitations are listed and can be revoked', async (t) => {
      const { organizationId, ...owner } = await api.owner()
      const admin = await api.member('admin', organizationId)
      const list = async (by: SignedInUser) => {
        const answer = await by.browser.send('GET', '/v1/organization/invitations')
        t.equal(answer.status, 200)
        return (answer.body as { data: { id: string; email: string }[] }).data
      }
      const revoke = (by: SignedInUser, id: string) =>
        by.browser.send('DELETE', `/v1/organization/invitations/${id}`)
      t.same(await list(admin), [])
      const made = await invite(owner, 'first@people.test', 'owner')
      t.equal(made.status, 201)
      api.clock.advance(1)
      t.equal((await invite(admin, 'second@people.test', 'viewer')).status, 201)
      const [second, first] = await list(admin)
      t.match(first, { id: /^invt_/, email: 'first@people.test', role: 'owner', invitedBy: owner.userId })
      t.match(second, { email: 'second@people.test', role: 'viewer', invitedBy: admin.userId })
      t.same((made.body as { data: unknown }).data, first)
      const token = await api.tokenFor('first@people.test')

      for (const role of ['developer', 'viewer', 'billing'] as const) {
        const member = await api.member(role, organizationId)
        t.equal((await member.browser.send('GET', '/v1/organization/invitations')).status, 403)
        t.equal((await revoke(member, second?.id ?? '')).status, 403)
      }
      t.match(await revoke(admin, first?.id ?? ''), { status: 403 }, 'an admin does not manage owners')
      t.equal((await revoke(await api.owner(), first?.id ?? '')).status, 404, 'foreign')
      t.equal((await revoke(owner, 'invt_nonsense')).status, 404)
      t.equal((await revoke(owner, first?.id ?? '')).status, 204)
      t.equal((await revoke(owner, first?.id ?? '')).status, 404)
      t.match(await accept({ token, name: 'First', password: 'a good password' }), {
        status: 400,
        ...refusal('invalid_token'),
      })
      t.match(await list(owner), [{ email: 'second@people.test' }])
      api.clock.advance(7 * DAY_MS)
      t.same(await list(await api.member('owner', organizationId)), [], 'nor are expired ones open')
      const entries = await database.db
        .selectFrom('auditEntries')
        .selectAll()
        .where('organizationId', '=', organizationId)
        .where('action', '=', 'invitation.revoked')
        .execute()
      t.match(entries, [{ actorId: owner.userId, subjectType: 'invitation', subjectId: first?.id }])
    })

    await t.test('invitations end with the rights of the person who made them', async (t) => {
      const join = async (email: string) => {
        const token = await api.tokenFor(email)
        return accept({ token, name: 'Friend', password: 'a good password' })
      }
      const open = async (organizationId: string) =>
        (
          await database.db
            .selectFrom('invitations')
            .where('organizationId', '=', organizationId)
            .where('acceptedAt', 'is', null)
            .select(['email', 'role'])
            .orderBy('role')
            .execute()
        ).map(({ role }) => role)

      for (const [name, after, left] of [
        ['removed', null, []],
        ['made viewer', 'viewer', []],
        ['made admin', 'admin', ['viewer']],
      ] as const) {
        const { organizationId, ...owner } = await api.owner()
        const leaving = await api.member('owner', organizationId)
        const emails = ['owner', 'viewer'].map((role) => `${role}-of-${leaving.email}`)
        t.equal((await invite(leaving, emails[0] ?? '', 'owner')).status, 201)
        t.equal((await invite(leaving, emails[1] ?? '', 'viewer')).status, 201)
        const token = await api.tokenFor(emails[0] ?? '')
        const answer =
          after === null ? await remove(owner, leaving.userId) : await patch(owner, leaving.userId, after)
        t.ok(answer.status < 300)
        t.same(await open(organizationId), left, name)
        t.match(
          await accept({ token, name: 'Friend', password: 'a good password' }),
          { status: 400, ...refusal('invalid_token') },
          name,
        )
      }

      // A right that ended without the operations, for example by hand in the database.
      const { organizationId } = await api.owner()
      const inviter = await api.member('owner', organizationId)
      const email = `later-${inviter.email}`
      t.equal((await invite(inviter, email, 'owner')).status, 201)
      const setRole = (role: Role) =>
        database.db.updateTable('members').set({ role }).where('userId', '=', inviter.userId).execute()
      await setRole('admin')
      t.match(await join(email), { status: 400, ...refusal('invalid_token') }, 'the present role counts')
      await setRole('owner')
      t.equal((await join(email)).status, 200, 'and the refusal did not use up the link')
    })

    await t.test('which role may invite which role', async (t) => {
      const table: readonly [by: Role, role: string, status: number][] = [
        ['owner', 'owner', 201],
        ['admin', 'admin', 201],
        ['admin', 'owner', 403],
        ['developer', 'viewer', 403],
        ['viewer', 'viewer', 403],
        ['billing', 'viewer', 403],
        ['owner', 'staff', 400],
      ]
      for (const [by, role, status] of table) {
        const actor = await api.member(by)
        t.equal(
          (await invite(actor, `${by}-${role}@people.test`, role)).status,
          status,
          `${by} invites ${role}`,
        )
      }
      const owner = await api.member('owner')
      t.equal((await invite(owner, 'not an address', 'viewer')).status, 400)
      api.clock.advance(60_000)
      const many = Array.from({ length: 32 }, (_, i) => invite(owner, `many-${i}@people.test`, 'viewer'))
      const limited = (await Promise.all(many)).filter(({ status }) => status === 429)
      t.equal(limited.length, 2, '30 a minute from one organization')
      t.match(limited[0]?.body, { error: { code: 'rate_limited' } })
      api.clock.advance(60_000)
      const staff = await api.staff()
      t.equal((await invite(owner, staff.email, 'viewer')).status, 201)
      t.match(await accept({ token: await api.tokenFor(staff.email) }), {
        status: 409,
        ...refusal('conflict'),
      })
    })
    await api.close()
  })
})
