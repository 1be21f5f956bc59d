import { isIP } from 'node:net'
import type { Egress } from '../net/egress.js'

/**
 * Returns why a SIP host that a customer gave may not be used now, or null. The rules are those of URLs: the name
 * must resolve, and only to public addresses unless the operator allows private ones.
 */
export async function hostProblem(
  egress: Pick<Egress, 'check'>,
  organizationId: string,
  host: string,
): Promise<string | null> {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return (await egress.check(`https://${name}/`, 'http', organizationId))?.reason ?? null
}
