import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember, signInStaff } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { updateOrganizationProfile } from '../organization/profile-store.js'
import { findTrunk, listRegisteringTrunks } from './store.js'
import { openTrunkCallers } from './trunk-callers.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const json = (body: unknown) => ({ json: body })
const DETAILS = {
  legalName: 'Asha Clinics',
  entityType: 'llp',
  registeredAddress: { address: '1 MG Road', city: 'Bengaluru', pincode: '560001', stateCode: '29' },
  authorisedPerson: { name: 'A Person', email: 'a@example.com', phone: '+919876543210' },
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { api, deps, clock } = calling
  const { organizationId } = calling.owner
  const staff = await signInStaff(api)
  const live = (method: string, path: string, body?: unknown, headers = {}) =>
    api.send(method, path, { key: api.liveKey, headers, ...(body === undefined ? {} : json(body)) })
  const owner = { organizationId, environment: 'live' } as const

  /** Verifies an organization and allows it to create trunks. */
  const admit = async (id: string, liveKey: string) => {
    const person = await signInMember(api, id, 'owner')
    await person.send('POST', '/v1/organization/verification', json(DETAILS))
    await staff.send(
      'POST',
      `/v1/staff/organizations/${id}/verification-decision`,
      json({ decision: 'verified', reason: 'Papers are in order.' }),
    )
    const asked = await api.send('POST', '/v1/sip-trunks/access-request', {
      key: liveKey,
      ...json({ message: 'Our PBX' }),
    })
    const { request } = dataOf(asked) as { request: { id: string } }
    return staff.send(
      'POST',
      `/v1/staff/sip-access-requests/${request.id}/decision`,
      json({ decision: 'approved', reason: 'Known customer.' }),
    )
  }

  await t.test('the right to create trunks', async (t) => {
    t.match(dataOf(await live('GET', '/v1/sip-trunks/entitlement')), {
      enabled: false,
      organizationVerified: false,
      request: null,
    })
    const early = await live('POST', '/v1/sip-trunks', { name: 'PBX' })
    t.equal(early.status, 403)
    t.equal(errorOf(early).code, 'sip_trunking_not_enabled')
    t.equal((await live('POST', '/v1/sip-trunks/access-request', { message: 'Please' })).status, 200)
    const again = await live('POST', '/v1/sip-trunks/access-request', { message: 'Please' })
    t.match([again.status, errorOf(again).code], [409, 'sip_trunking_request_pending'])
    const [waiting] = itemsOf(await staff.send('GET', '/v1/staff/sip-access-requests?status=pending'))
    const decide = (decision: string) =>
      staff.send(
        'POST',
        `/v1/staff/sip-access-requests/${waiting?.id}/decision`,
        json({ decision, reason: 'Which PBX?' }),
      )
    t.match(dataOf(await decide('rejected')), { status: 'rejected', organizationId })
    t.equal((await decide('approved')).status, 409, 'a decision is final')
    clock.advance(1)
    t.equal((await admit(organizationId, api.liveKey)).status, 200)
    t.match(dataOf(await live('GET', '/v1/sip-trunks/entitlement')), {
      enabled: true,
      organizationVerified: true,
      request: { status: 'approved', rejectionReason: null },
    })
    const enabled = await live('POST', '/v1/sip-trunks/access-request', { message: 'More' })
    t.match([enabled.status, errorOf(enabled).code], [409, 'sip_trunking_already_enabled'])
  })

  await t.test('credentials are shown once, and again on a retry', async (t) => {
    const body = { name: 'Retry', outboundHost: 'pbx.example.com' }
    const headers = { 'idempotency-key': 'trunk-1' }
    const first = await live('POST', '/v1/sip-trunks', body, headers)
    t.equal(first.status, 201)
    const { connection, trunk } = dataOf(first) as Record<string, Record<string, string>>
    t.match(connection, {
      host: 'sip.parley.test',
      ips: ['198.51.100.10'],
      port: 5061,
      transport: 'tls',
      realm: 'parley',
      username: /^p[0-9a-f]{11}$/,
      password: /^(?=.*_)[A-Za-z0-9_]{20}$/,
    })
    t.match(trunk, {
      status: 'pending_verification',
      inboundAuth: 'digest',
      callerIdPolicy: 'did',
      codecs: ['PCMA', 'PCMU'],
      maxConcurrent: 10,
      outboundPort: 5061,
      outboundTransport: 'tls',
      register: false,
      source: 'api',
    })
    t.same((await live('POST', '/v1/sip-trunks', body, headers)).body, first.body, 'a replay')
    // As after a crash between the change and its stored response.
    await deps.db.updateTable('idempotencyKeys').set({ state: 'free', response: null }).execute()
    const retried = await live('POST', '/v1/sip-trunks', body, headers)
    t.equal(retried.headers.get('idempotency-replayed'), null)
    t.same(dataOf(retried).connection, connection, 'the same trunk and password')
    t.equal(itemsOf(await live('GET', '/v1/sip-trunks')).length, 1)
    const read = await live('GET', `/v1/sip-trunks/${trunk?.id}`)
    t.notMatch(JSON.stringify(read.body), connection?.password ?? 'none')
    t.notMatch(JSON.stringify((await live('GET', '/v1/sip-trunks')).body), connection?.password ?? 'none')
  })

  await t.test('a new password counts at once', async (t) => {
    const made = dataOf(await live('POST', '/v1/sip-trunks', { name: 'Rotated' })) as Record<
      string,
      Record<string, string>
    >
    const callers = openTrunkCallers(deps.db, deps.rootKey, clock)
    const username = made.connection?.username ?? ''
    t.equal((await callers.byUsername(username))?.password, made.connection?.password)
    const rotated = dataOf(await live('POST', `/v1/sip-trunks/${made.trunk?.id}/credentials/rotate`))
    const { password } = rotated.connection as { password: string }
    t.not(password, made.connection?.password)
    t.equal((await callers.byUsername(username))?.password, password)
  })

  await t.test('PATCH checks the result of the change', async (t) => {
    const { trunk } = dataOf(await live('POST', '/v1/sip-trunks', { name: 'Settings' })) as {
      trunk: { id: string }
    }
    const path = `/v1/sip-trunks/${trunk.id}`
    const patch = (body: unknown) => live('PATCH', path, body)
    const refused = async (body: object, status: number, at: string) => {
      const answer = await patch(body)
      const { details } = errorOf(answer)
      const where = details?.path ?? (details?.issues as { path: string }[])?.[0]?.path
      t.same([answer.status, where], [status, at], JSON.stringify(body))
    }
    await refused({ inboundAuth: 'ip_acl' }, 422, 'ipAcl')
    await refused({ register: true }, 422, 'register')
    await refused({ outboundAuthUsername: 'x' }, 422, 'outboundPassword')
    await refused({ outboundHost: 'private.example' }, 400, 'outboundHost')
    await refused({ outboundHost: '10.1.2.3' }, 400, 'outboundHost')
    for (const range of [
      '10.0.0.0/24',
      '8.8.8.0/23',
      '2a00:1::/47',
      '127.0.0.1',
      'fd00::1',
      'x',
      '0.0.0.0/0',
    ]) {
      await refused({ ipAcl: ['8.8.8.8', range] }, 400, 'ipAcl[1]')
    }
    for (const headers of [{ 'X-Svc-A': '1' }, { A: '1' }, { 'X-A': 'a\r\nVia: b' }, { 'X-A': ' ' }]) {
      t.equal((await patch({ customHeaders: headers })).status, 400, JSON.stringify(headers))
    }
    t.match(
      dataOf(
        await patch({
          inboundAuth: 'both',
          ipAcl: ['8.8.8.9/28', '2a00:1450:4001::1'],
          outboundHost: 'PBX.example.com',
          outboundTransport: 'udp',
          outboundAuthUsername: 'pbx',
          outboundPassword: 's3cret',
          register: true,
          customHeaders: { 'X-Account': '17' },
          codecs: ['G722', 'PCMA'],
        }),
      ),
      {
        ipAcl: ['8.8.8.0/28', '2a00:1450:4001::1/128'],
        ipAclPending: ['8.8.8.0/28', '2a00:1450:4001::1/128'],
        outboundHost: 'pbx.example.com',
        outboundPort: 5060,
        hasOutboundPassword: true,
        register: true,
        customHeaders: { 'X-Account': '17' },
        codecs: ['G722', 'PCMA'],
      },
    )
    t.match(dataOf(await patch({ register: false, outboundAuthUsername: null, outboundPassword: null })), {
      hasOutboundPassword: false,
      outboundHost: 'pbx.example.com',
    })

    // The operator allowed private addresses once.
    const ranges = ['10.0.0.0/24']
    await deps.db
      .updateTable('sipTrunks')
      .set({ ipAcl: JSON.stringify(ranges) })
      .where('id', '=', trunk.id)
      .execute()
    t.match(dataOf(await patch({ name: 'Renamed' })), { name: 'Renamed', ipAcl: ranges })
    t.match(dataOf(await patch({ ipAcl: ranges, inboundAuth: 'both' })), { ipAcl: ranges })
    await refused({ inboundAuth: 'ip_acl' }, 400, 'ipAcl[0]')
    await refused({ ipAcl: ['10.0.1.0/24'] }, 400, 'ipAcl[0]')
    await deps.db
      .updateTable('sipTrunks')
      .set({ ipAcl: '[]', outboundAuthUsername: 'pbx', register: 1 })
      .where('id', '=', trunk.id)
      .execute()
    t.match(dataOf(await patch({ maxConcurrent: 3, outboundPort: 5070 })), {
      maxConcurrent: 3,
      register: true,
    })
    await refused({ ipAcl: [], inboundAuth: 'ip_acl' }, 422, 'ipAcl')
    await refused({ outboundAuthUsername: 'pbx' }, 422, 'outboundPassword')
    await refused({ register: true }, 422, 'register')
    t.equal((await patch({ register: false, outboundAuthUsername: null })).status, 200)
    t.equal((await patch({ inboundAuth: 'digest', ipAcl: ['8.8.8.0/28'] })).status, 200)
    clock.advance(1)
    const single = dataOf(await patch({ ipAcl: ['8.8.8.0/28', '8.8.8.99'] }))
    t.match(single, { ipAcl: ['8.8.8.0/28', '8.8.8.99/32'] })
    t.match(dataOf(await patch({ ipAcl: ['8.8.8.0/28'] })), { ipAclPending: ['8.8.8.0/28'] })

    const other = await calling.anotherOrganization()
    await admit(other.organizationId, other.liveKey)
    const theirs = await api.send('POST', '/v1/sip-trunks', {
      key: other.liveKey,
      ...json({ name: 'Theirs', inboundAuth: 'ip_acl', ipAcl: ['8.8.8.0/24'] }),
    })
    t.equal(theirs.status, 201, 'what another organization only wrote down belongs to nobody')
    const { trunk: stranger } = dataOf(theirs) as { trunk: { id: string; ipAclPending: string[] } }
    const decide = (id: string, verb: string, ipAcl?: readonly string[]) =>
      staff.send('POST', `/v1/staff/sip-trunks/${id}/${verb}`, {
        json: { reason: 'Looked at the addresses.', ...(ipAcl === undefined ? {} : { ipAcl }) },
      })
    for (const reviewed of [undefined, [], ['8.8.8.0/28', '8.8.8.99'], ['8.8.8.0/27'], ['8.8.8.1/28x']]) {
      const unseen = await decide(trunk.id, 'approve', reviewed)
      t.match(
        [unseen.status, errorOf(unseen).code, errorOf(unseen).details],
        [409, 'conflict', { path: 'ipAcl', ipAcl: ['8.8.8.0/28'] }],
        `reviewed: ${reviewed}`,
      )
    }
    t.match(dataOf(await live('GET', path)), {
      status: 'pending_verification',
      ipAclPending: ['8.8.8.0/28'],
    })
    t.match(dataOf(await decide(trunk.id, 'approve', ['8.8.8.0/28', '8.8.8.0/28'])), {
      status: 'active',
      ipAclPending: [],
    })
    const late = await decide(stranger.id, 'approve')
    t.same([late.status, errorOf(late).details.range], [409, '8.8.8.0/24'], 'the approved trunk has them')
    t.match(dataOf(await api.send('GET', `/v1/sip-trunks/${stranger.id}`, { key: other.liveKey })), {
      status: 'pending_verification',
    })
    const wanted = await api.send('POST', '/v1/sip-trunks', {
      key: other.liveKey,
      ...json({ name: 'Theirs too', inboundAuth: 'ip_acl', ipAcl: ['8.8.8.8'] }),
    })
    t.same([wanted.status, errorOf(wanted).code], [409, 'conflict'], 'addresses of another organization')

    // While a trunk is disabled it claims nothing.
    await decide(trunk.id, 'disable')
    t.match(
      dataOf(await decide(stranger.id, 'approve')),
      { status: 'active', ipAclPending: [] },
      'a trunk that never changed has only one list that staff can have reviewed',
    )
    t.equal((await decide(trunk.id, 'enable')).status, 409, 'they went to another organization')
    await decide(stranger.id, 'disable')
    t.match(dataOf(await decide(trunk.id, 'enable')), { status: 'active' })

    t.match(dataOf(await patch({ ipAcl: ['8.8.8.0/29', '8.8.4.4'] })), {
      status: 'active',
      ipAclPending: ['8.8.4.4/32'],
    })
    t.match(dataOf(await decide(trunk.id, 'approve', ['8.8.4.4', '8.8.8.0/29'])), { ipAclPending: [] })
    t.equal((await decide(trunk.id, 'approve')).status, 409, 'nothing waits')
    t.equal((await api.send('GET', path, { key: other.liveKey })).status, 404)
    t.equal((await api.send('GET', path)).status, 404, 'the other environment')
    t.equal((await live('POST', '/v1/sip-trunks', { name: 'Own', ipAcl: ['8.8.8.0/28'] })).status, 201)
  })

  await t.test('staff approves, disables and enables; the registration follows', async (t) => {
    const made = dataOf(
      await live('POST', '/v1/sip-trunks', {
        name: 'Carrier',
        outboundHost: 'pbx.example.com',
        outboundAuthUsername: 'pbx',
        outboundPassword: 's3cret',
        register: true,
      }),
    ) as { trunk: { id: string } }
    const { id } = made.trunk
    const registers = async () => (await listRegisteringTrunks(deps.db)).some((row) => row.id === id)
    const act = (verb: string) =>
      staff.send('POST', `/v1/staff/sip-trunks/${id}/${verb}`, json({ reason: 'Reviewed.' }))
    t.equal(await registers(), false)
    t.equal((await act('enable')).status, 409)
    t.match(dataOf(await act('approve')), { status: 'active', approvedAt: /Z$/ })
    t.equal((await act('approve')).status, 409)
    t.equal(await registers(), true)
    t.match(dataOf(await act('disable')), { status: 'disabled', disabledReason: 'Reviewed.' })
    t.equal(await registers(), false)
    t.match(dataOf(await act('enable')), { status: 'active', disabledReason: null })
    const rights = json({ allowOrigination: true, reason: 'Agreed.' })
    t.match(dataOf(await staff.send('PATCH', `/v1/staff/sip-trunks/${id}`, rights)), {
      allowOrigination: true,
    })
    t.equal((await live('PATCH', `/v1/sip-trunks/${id}`, { allowOrigination: true })).status, 400)
    const probed = dataOf(await live('POST', `/v1/sip-trunks/${id}/test`, { method: 'register' }))
    t.match(probed.lastProbe, { ok: true, method: 'register', sipStatus: 200, error: null })
  })

  await t.test('numbers of a trunk', async (t) => {
    const make = async (name: string) =>
      (dataOf(await live('POST', '/v1/sip-trunks', { name })) as { trunk: { id: string } }).trunk.id
    const [id, second] = [await make('A'), await make('B')]
    const added = await live('POST', `/v1/sip-trunks/${id}/numbers`, {
      e164s: ['080 4123', '+918041234567', '+911401234567', '+918041234567', calling.number, '', '+9180'],
      label: 'Desk',
    })
    const { imported, rejected } = dataOf(added) as { imported: { id: string }[]; rejected: object[] }
    t.match(imported, [
      {
        e164: '+918041234567',
        label: 'Desk',
        provider: 'sip_trunk',
        numberType: 'landline',
        rentalPaise: 0,
        sipTrunkId: id,
        status: 'active',
      },
    ])
    t.match(
      rejected,
      [
        { index: 0, e164: '080 4123', code: 'validation_error', message: /E\.164 number, for example/ },
        { index: 2, e164: '+911401234567', code: 'blocked_dlt_invalid' },
        { index: 4, e164: calling.number, code: 'conflict' },
        { index: 5, e164: '', code: 'validation_error' },
        { index: 6, e164: '+9180', code: 'validation_error' },
      ],
      'one wrong number refuses no other',
    )
    const many = Array.from({ length: 101 }, () => '+9180')
    t.equal((await live('POST', `/v1/sip-trunks/${id}/numbers`, { e164s: many })).status, 400)
    const long = ['1'.repeat(41)]
    t.equal((await live('POST', `/v1/sip-trunks/${id}/numbers`, { e164s: long })).status, 400)
    const twice = dataOf(await live('POST', `/v1/sip-trunks/${second}/numbers`, { e164s: ['+918041234567'] }))
    t.match(twice, { imported: [], rejected: [{ index: 0, code: 'conflict' }] })

    const other = await calling.anotherOrganization()
    await admit(other.organizationId, other.liveKey)
    const theirs = { key: other.liveKey }
    const theirTrunk = dataOf(await api.send('POST', '/v1/sip-trunks', { ...theirs, ...json({ name: 'C' }) }))
    const { id: theirId } = theirTrunk.trunk as { id: string }
    const same = await api.send('POST', `/v1/sip-trunks/${theirId}/numbers`, {
      ...theirs,
      ...json({ e164s: ['+918041234567'] }),
    })
    t.match(dataOf(same), { imported: [{ e164: '+918041234567' }] }, 'numbers are unique per organization')

    const path = `/v1/sip-trunks/${id}`
    t.match(itemsOf(await live('GET', `${path}/numbers`)), [{ e164: '+918041234567' }])
    const kept = await live('DELETE', path)
    t.match(
      [kept.status, errorOf(kept).code, errorOf(kept).details],
      [409, 'sip_trunk_has_numbers', { count: 1 }],
    )
    const [number] = imported
    t.equal((await live('DELETE', `/v1/sip-trunks/${second}/numbers/${number?.id}`)).status, 404)
    t.equal((await live('DELETE', `${path}/numbers/${number?.id}`)).status, 204)
    t.same(itemsOf(await live('GET', `${path}/numbers`)), [])
    t.match(dataOf(await live('GET', `/v1/numbers/${number?.id}`)), { status: 'released' })
    t.equal((await live('DELETE', path)).status, 204)
    t.equal((await live('GET', path)).status, 404)
  })

  await t.test('a trunk of the trunk file is shown and tested, not changed', async (t) => {
    const [trunk] = itemsOf(await live('GET', '/v1/sip-trunks'))
    const path = `/v1/sip-trunks/${trunk?.id}`
    await deps.db
      .updateTable('sipTrunks')
      .set({ source: 'file' })
      .where('id', '=', String(trunk?.id))
      .execute()
    t.equal(dataOf(await live('GET', path)).source, 'file')
    t.equal((await live('PATCH', path, { name: 'X' })).status, 409)
    t.equal((await live('DELETE', path)).status, 409)
    t.equal((await live('POST', `${path}/credentials/rotate`)).status, 409)
    t.equal((await live('POST', `${path}/numbers`, { e164s: ['+918041234568'] })).status, 409)
    t.equal((await live('POST', `${path}/test`, {})).status, 200)
    t.not(await findTrunk(deps.db, owner, String(trunk?.id)), null)
  })

  await t.test('without the right, existing trunks stay and no new one is made', async (t) => {
    await deps.db
      .transaction()
      .execute((trx) => updateOrganizationProfile(trx, organizationId, { trunkingEnabled: 0 }))
    t.equal((await live('POST', '/v1/sip-trunks', { name: 'Late' })).status, 403)
    t.ok(itemsOf(await live('GET', '/v1/sip-trunks')).length > 0)
  })
  await calling.close()
})
