import { z } from 'zod'
import { operation } from '../api/operation.js'
import { openEnum } from '../base/schemas.js'
import { signUpOperations } from './accounts/sign-up-api.js'
import { factorOperations } from './factors/api.js'
import { keyOperations } from './keys/api.js'
import { scanningOperations } from './keys/scanning-api.js'
import { memberOperations } from './members/api.js'
import { invitationOperations } from './members/invitations-api.js'
import { sessionOperations } from './sessions/api.js'

const Whoami = z.object({
  /** Null in a session. */
  keyId: z.string().nullable(),
  organizationId: z.string(),
  environment: openEnum('test', 'live'),
  scopes: z.array(openEnum('read', 'write', 'admin')),
})

export const whoami = operation({
  id: 'whoami',
  method: 'get',
  path: '/v1/whoami',
  tag: 'API keys',
  summary: 'Identify the API key',
  description: 'Returns the organization, environment and effective scopes of the key that sent the request.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: Whoami,
  fails: [],
  run: ({ actor }) => ({
    keyId: actor.kind === 'key' ? actor.keyId : null,
    organizationId: actor.organizationId,
    environment: actor.environment,
    scopes: [...actor.scopes],
  }),
})

export const accessOperations = [
  ...keyOperations,
  whoami,
  ...signUpOperations,
  ...sessionOperations,
  ...factorOperations,
  ...memberOperations,
  ...invitationOperations,
  ...scanningOperations,
]
