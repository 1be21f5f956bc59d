import { isIP } from 'node:net'
import type { Egress, UrlProblem } from '../net/egress.js'

/**
 * Returns why a SIP host that a customer gave may not be used now, or null. The rules are those of URLs: the name
 * must resolve, and only to public addresses unless the operator allows private ones.
 */
export function examineHost(
  egress: Pick<Egress, 'check'>,
  organizationId: string,
  host: string,
): Promise<UrlProblem | null> {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return egress.check(`https://${name}/`, 'http', organizationId)
}

/** Like `examineHost`, as a text. */
export async function hostProblem(
  egress: Pick<Egress, 'check'>,
  organizationId: string,
  host: string,
): Promise<string | null> {
  return (await examineHost(egress, organizationId, host))?.reason ?? null
}
