import { Api } from './generated/api.js'

export { ParleyError } from './errors.js'
export { EventStream } from './event-stream.js'
export type { ClientOptions, Page, RequestOptions } from './http-client.js'
export { paginate } from './http-client.js'

/**
 * The API of a Parley service: one method per operation. Requests are repeated by the code of their error.
 *
 *     const parley = new ParleyClient({ baseUrl, apiKey })
 *     const call = await parley.placeCall({ body: { to: '+919876543210', numberId } })
 */
export class ParleyClient extends Api {}
