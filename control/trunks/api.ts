import { z } from 'zod'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { changeTrunk, createTrunk, deleteTrunk, noTrunk, rotateCredentials } from './manage-trunk.js'
import { testTrunk } from './probe.js'
import { findTrunk, listTrunks } from './store.js'
import { NewTrunk, TrunkPatch } from './trunk-settings.js'
import { SipTrunk, TrunkWithCredentials, trunkView, trunkWithCredentials } from './view.js'

const TrunkPath = z.object({ id: idParam('trk') })
const COMMON = { tag: 'SIP trunks', audience: 'key' } as const

const listSipTrunks = listOperation({
  ...COMMON,
  id: 'listSipTrunks',
  path: '/v1/sip-trunks',
  summary: 'List SIP trunks',
  description: 'Trunks of the environment of the key, newest first. Passwords are never included.',
  scope: 'read',
  result: SipTrunk,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listTrunks(deps.db, actor, page)
    return { items: items.map((row) => trunkView(row, deps.sipGateway, deps.clock.wall())), next }
  },
})

const readSipTrunk = operation({
  ...COMMON,
  id: 'readSipTrunk',
  method: 'get',
  path: '/v1/sip-trunks/:id',
  summary: 'Get a SIP trunk',
  description: 'The password is never included.',
  scope: 'read',
  params: TrunkPath,
  status: 200,
  result: SipTrunk,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findTrunk(deps.db, actor, params.id)
    return row === null ? noTrunk() : trunkView(row, deps.sipGateway, deps.clock.wall())
  },
})

const createSipTrunk = operation({
  ...COMMON,
  id: 'createSipTrunk',
  method: 'post',
  path: '/v1/sip-trunks',
  summary: 'Create a SIP trunk',
  description:
    'The trunk can be configured and tested at once; it carries calls after staff of the service approved it. The password is shown only in this response: send an `Idempotency-Key`, so that a retry returns the same trunk and password.',
  scope: 'admin',
  body: NewTrunk,
  status: 201,
  result: TrunkWithCredentials,
  idempotent: 'accepted',
  fails: ['sip_trunking_not_enabled', 'unprocessable_entity', 'conflict', 'internal_error'],
  run: async ({ body, idempotencyId, ...input }) => {
    const made = await createTrunk({ ...input, idempotencyId }, body)
    return isRefusal(made)
      ? made
      : trunkWithCredentials(made.trunk, made.password, input.deps.sipGateway, input.deps.clock.wall())
  },
})

const updateSipTrunk = operation({
  ...COMMON,
  id: 'updateSipTrunk',
  method: 'patch',
  path: '/v1/sip-trunks/:id',
  summary: 'Update a SIP trunk',
  description: 'Changes count from the next call on. A new transport without a port gets its usual port.',
  scope: 'admin',
  params: TrunkPath,
  body: TrunkPatch,
  status: 200,
  result: SipTrunk,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, ...input }) => {
    const row = await changeTrunk(input, params.id, body)
    return isRefusal(row) ? row : trunkView(row, input.deps.sipGateway, input.deps.clock.wall())
  },
})

const deleteSipTrunk = operation({
  ...COMMON,
  id: 'deleteSipTrunk',
  method: 'delete',
  path: '/v1/sip-trunks/:id',
  summary: 'Delete a SIP trunk',
  description: 'A trunk with numbers cannot be deleted. Calls in progress continue.',
  scope: 'admin',
  params: TrunkPath,
  status: 204,
  fails: ['not_found', 'conflict', 'sip_trunk_has_numbers'],
  run: async ({ params, ...input }) => (await deleteTrunk(input, params.id)) ?? undefined,
})

const rotateTrunkCredentials = operation({
  ...COMMON,
  id: 'rotateSipTrunkCredentials',
  method: 'post',
  path: '/v1/sip-trunks/:id/credentials/rotate',
  summary: 'Replace the password of a SIP trunk',
  description:
    'The old password stops with the next call; calls in progress continue. The new one is shown only in this response.',
  scope: 'admin',
  params: TrunkPath,
  status: 200,
  result: TrunkWithCredentials,
  fails: ['not_found', 'conflict'],
  run: async ({ params, ...input }) => {
    const made = await rotateCredentials(input, params.id)
    return isRefusal(made)
      ? made
      : trunkWithCredentials(made.trunk, made.password, input.deps.sipGateway, input.deps.clock.wall())
  },
})

const testSipTrunk = operation({
  ...COMMON,
  id: 'testSipTrunk',
  method: 'post',
  path: '/v1/sip-trunks/:id/test',
  summary: 'Test a SIP trunk',
  description:
    'The method `options` asks whether outboundHost, or else the registered telephone system, answers, `register` whether it accepts outboundAuthUsername. The result is `lastProbe`. A trunk of the test environment asks the simulated carrier.',
  scope: 'admin',
  params: TrunkPath,
  body: z.strictObject({ method: z.enum(['options', 'register']).default('options') }),
  status: 200,
  result: SipTrunk,
  fails: ['not_found'],
  run: async ({ params, body, actor, deps }) => {
    const trunk = await findTrunk(deps.db, actor, params.id)
    if (trunk === null) return noTrunk()
    const row = await testTrunk(deps, trunk, body.method)
    return row === null ? noTrunk() : trunkView(row, deps.sipGateway, deps.clock.wall())
  },
})

export const trunkOperations = [
  listSipTrunks,
  createSipTrunk,
  readSipTrunk,
  updateSipTrunk,
  deleteSipTrunk,
  rotateTrunkCredentials,
  testSipTrunk,
]
