// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.

import { HttpClient, type Page, type RequestOptions } from '../http-client.js'
import type {
  AcceptInvitationBody,
  Agent,
  ApiKey,
  AuditLog,
  Call,
  ChangeMemberRoleBody,
  ChangePasswordBody,
  CheckEmailAvailableBody,
  Connection,
  CreateAgentBody,
  CreateApiKeyBody,
  CreateConnectionBody,
  CreateSandboxInboundCallBody,
  CreateSecretBody,
  CreateWebhookBody,
  DecideOrganizationVerificationBody,
  DecideSenderIdBody,
  DeclareRobocallsBody,
  Email,
  EmailAvailable,
  Event,
  Events,
  ForgotPasswordBody,
  HangUpCallBody,
  In,
  Invitation,
  InviteMemberBody,
  LeakedKeys,
  Limits,
  ListAgentVersionsQuery,
  ListAgentsQuery,
  ListApiKeysQuery,
  ListAuditLogQuery,
  ListCallsQuery,
  ListConnectionsQuery,
  ListEventsQuery,
  ListMembersQuery,
  ListNumbersQuery,
  ListOrganizationsQuery,
  ListRobocallDeclarationsQuery,
  ListSecretsQuery,
  ListSenderIdsQuery,
  ListWebhookDeliveriesQuery,
  ListWebhooksQuery,
  LogInBody,
  Member,
  MemberRole,
  Models,
  NarrowApiKeyBody,
  Number,
  Open,
  Organization,
  OrganizationAsStaff,
  Organizations,
  PlaceCallBody,
  PublishAgentBody,
  PublishAgentResult,
  ReadApiKeyResult,
  ReadVerificationResult,
  ReadWebhookResult,
  Recording,
  RedeliverEventBody,
  RedeliverEventResult,
  ReplaceSecretBody,
  ReportLeakedKeysBody,
  ResendVerificationBody,
  ResetPasswordBody,
  Robocalls,
  RollApiKeyBody,
  RollApiKeyResult,
  RollWebhookSecretResult,
  RollbackAgentBody,
  SandboxInboundCall,
  Secret,
  SenderId,
  SetAgentSenderClassificationBody,
  SetKillSwitchBody,
  SetOrganizationLimitsBody,
  SetSenderClassificationBody,
  SignUpBody,
  SubmitSenderIdBody,
  SubmitVerificationBody,
  TestConnectionResult,
  TestWebhookResult,
  Transcript,
  Up,
  UpdateAgentBody,
  UpdateConnectionBody,
  UpdateNumberBody,
  UpdateOrganizationBody,
  UpdateWebhookBody,
  Verification,
  VerifyEmailBody,
  Voices,
  Webhook,
  WebhookDelivery,
  WebhookSecret,
  WebhookSigningSecret,
  Whoami,
} from './types.js'

/** Every operation of the API as a method. */
export class Api extends HttpClient {
  /** Makes a key, with at most the scopes of your role */
  createApiKey(input: { readonly body: CreateApiKeyBody }, options: RequestOptions = {}): Promise<ApiKey> {
    return this.send({ method: 'POST', path: '/v1/api-keys', reply: 'data' }, input, options)
  }

  /** Lists the keys of the environment, newest first Needs the scope `read`. */
  listApiKeys(input: { readonly query?: ListApiKeysQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadApiKeyResult>> {
    return this.send({ method: 'GET', path: '/v1/api-keys', reply: 'list' }, input, options)
  }

  /** Reads a key Needs the scope `read`. */
  readApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'GET', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Takes scopes from a key; more scopes need a new key Needs the scope `admin`. */
  narrowApiKey(input: { readonly id: string; readonly body: NarrowApiKeyBody }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'PATCH', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Revokes a key at once Needs the scope `admin`. */
  deleteApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/api-keys/{id}', reply: 'empty' }, input, options)
  }

  /** Replaces a key by a new one; the old one works on for a while Needs the scope `admin`. */
  rollApiKey(input: { readonly id: string; readonly body?: RollApiKeyBody | undefined }, options: RequestOptions = {}): Promise<RollApiKeyResult> {
    return this.send({ method: 'POST', path: '/v1/api-keys/{id}/roll', reply: 'data' }, input, options)
  }

  /** Which key this is: its organization, environment and effective scopes Needs the scope `read`. */
  whoami(options: RequestOptions = {}): Promise<Whoami> {
    return this.send({ method: 'GET', path: '/v1/whoami', reply: 'data' }, {}, options)
  }

  /** Whether an address can still sign up */
  checkEmailAvailable(input: { readonly body: CheckEmailAvailableBody }, options: RequestOptions = {}): Promise<EmailAvailable> {
    return this.send({ method: 'POST', path: '/v1/signup/email-available', reply: 'data' }, input, options)
  }

  /** Makes an account and its organization; the address must be confirmed before signing in */
  signUp(input: { readonly body: SignUpBody }, options: RequestOptions = {}): Promise<Up> {
    return this.send({ method: 'POST', path: '/v1/signup', reply: 'data' }, input, options)
  }

  /** Confirms an address with the token of the mail */
  verifyEmail(input: { readonly body: VerifyEmailBody }, options: RequestOptions = {}): Promise<Email> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email', reply: 'data' }, input, options)
  }

  /** Mails the confirmation again, if the address waits for one */
  resendVerification(input: { readonly body: ResendVerificationBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email/resend', reply: 'data' }, input, options)
  }

  /** Signs in: sets the cookies svc_session and svc_csrf */
  logIn(input: { readonly body: LogInBody }, options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'POST', path: '/v1/auth/login', reply: 'data' }, input, options)
  }

  /** Ends this session */
  logOut(options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/logout', reply: 'empty' }, {}, options)
  }

  /** Who is signed in, and for which organizations they may act */
  readSession(options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'GET', path: '/v1/auth/session', reply: 'data' }, {}, options)
  }

  /** Mails a link to choose a new password, if the address has an account */
  forgotPassword(input: { readonly body: ForgotPasswordBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/password/forgot', reply: 'data' }, input, options)
  }

  /** Sets a new password with the token of the mail, and signs out everywhere */
  resetPassword(input: { readonly body: ResetPasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/reset', reply: 'empty' }, input, options)
  }

  /** Sets a new password, and ends every other session */
  changePassword(input: { readonly body: ChangePasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/change', reply: 'empty' }, input, options)
  }

  /** Lists the members, newest first */
  listMembers(input: { readonly query?: ListMembersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<MemberRole>> {
    return this.send({ method: 'GET', path: '/v1/organization/members', reply: 'list' }, input, options)
  }

  /** Changes the role of a member; what their keys may do follows at once */
  changeMemberRole(input: { readonly userId: string; readonly body: ChangeMemberRoleBody }, options: RequestOptions = {}): Promise<MemberRole> {
    return this.send({ method: 'PATCH', path: '/v1/organization/members/{userId}', reply: 'data' }, input, options)
  }

  /** Removes a member; keys that they made lose all scopes */
  removeMember(input: { readonly userId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/organization/members/{userId}', reply: 'empty' }, input, options)
  }

  /** Invites somebody by mail; replaces an earlier invitation of the address */
  inviteMember(input: { readonly body: InviteMemberBody }, options: RequestOptions = {}): Promise<Member> {
    return this.send({ method: 'POST', path: '/v1/organization/invitations', reply: 'data' }, input, options)
  }

  /** Accepts an invitation with the token of the mail; name and password make a new account */
  acceptInvitation(input: { readonly body: AcceptInvitationBody }, options: RequestOptions = {}): Promise<Invitation> {
    return this.send({ method: 'POST', path: '/v1/invitations/accept', reply: 'data' }, input, options)
  }

  /** Reports keys found in public: they are revoked, and owners and admins are mailed */
  reportLeakedKeys(input: { readonly body: ReportLeakedKeysBody }, options: RequestOptions = {}): Promise<LeakedKeys> {
    return this.send({ method: 'POST', path: '/v1/secret-scanning/reports', reply: 'data' }, input, options)
  }

  /** Create an agent as a draft. Needs the scope `write`. */
  createAgent(input: { readonly body: CreateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'POST', path: '/v1/agents', reply: 'data' }, input, options)
  }

  /** List agents, newest first. Needs the scope `read`. */
  listAgents(input: { readonly query?: ListAgentsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Agent>> {
    return this.send({ method: 'GET', path: '/v1/agents', reply: 'list' }, input, options)
  }

  /** Read an agent with its draft. Needs the scope `read`. */
  readAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Change the draft of an agent; objects merge, arrays are replaced. Needs the scope `write`. */
  updateAgent(input: { readonly id: string; readonly body: UpdateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PATCH', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Delete an agent that is on no call and unbind its numbers; its versions and calls stay. Needs the scope `write`. */
  deleteAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/agents/{id}', reply: 'empty' }, input, options)
  }

  /** Make the draft the next version, used by the next call. Needs the scope `write`. */
  publishAgent(input: { readonly id: string; readonly body?: PublishAgentBody | undefined }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/publish', reply: 'data' }, input, options)
  }

  /** Publish a copy of an earlier version and replace the draft by it; the purpose stays. Needs the scope `write`. */
  rollbackAgent(input: { readonly id: string; readonly body: RollbackAgentBody }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/rollback', reply: 'data' }, input, options)
  }

  /** Say what the agent’s calls are for; part of the draft, in force when it is published. */
  setAgentSenderClassification(input: { readonly id: string; readonly body: SetAgentSenderClassificationBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PUT', path: '/v1/agents/{id}/sender-classification', reply: 'data' }, input, options)
  }

  /** List the versions of an agent, newest first. Needs the scope `read`. */
  listAgentVersions(input: { readonly id: string; readonly query?: ListAgentVersionsQuery | undefined }, options: RequestOptions = {}): Promise<Page<PublishAgentResult>> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions', reply: 'list' }, input, options)
  }

  /** Read one version of an agent. Needs the scope `read`. */
  readAgentVersion(input: { readonly id: string; readonly version: string }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions/{version}', reply: 'data' }, input, options)
  }

  /** List the voices an agent can have, with the recognition models that go with each. Needs the scope `read`. */
  listVoices(options: RequestOptions = {}): Promise<Page<Voices>> {
    return this.send({ method: 'GET', path: '/v1/voices', reply: 'list' }, {}, options)
  }

  /** List the language models an agent can have. Needs the scope `read`. */
  listModels(options: RequestOptions = {}): Promise<Page<Models>> {
    return this.send({ method: 'GET', path: '/v1/models', reply: 'list' }, {}, options)
  }

  /** List the numbers of the key’s environment, newest first. Needs the scope `read`. */
  listNumbers(input: { readonly query?: ListNumbersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Number>> {
    return this.send({ method: 'GET', path: '/v1/numbers', reply: 'list' }, input, options)
  }

  /** Read a number. Needs the scope `read`. */
  readNumber(input: { readonly id: string }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'GET', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** Bind an agent or a media socket, choose which of them takes calls, rename, switch recording. Needs the scope `write`. */
  updateNumber(input: { readonly id: string; readonly body: UpdateNumberBody }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'PATCH', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** Place an outbound call; the pre-dial gate runs first. Needs the scope `write`. */
  placeCall(input: { readonly body: PlaceCallBody }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls', reply: 'data', idempotent: true }, input, options)
  }

  /** List calls, newest first. Needs the scope `read`. */
  listCalls(input: { readonly query?: ListCallsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Call>> {
    return this.send({ method: 'GET', path: '/v1/calls', reply: 'list' }, input, options)
  }

  /** Read a call. Needs the scope `read`. */
  readCall(input: { readonly id: string }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}', reply: 'data' }, input, options)
  }

  /** Get an address to download the recording from; left is the caller, right the agent. Needs the scope `read`. */
  readRecording(input: { readonly id: string }, options: RequestOptions = {}): Promise<Recording> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/recording', reply: 'data' }, input, options)
  }

  /** Read the transcript, also while the call runs. Needs the scope `read`. */
  readTranscript(input: { readonly id: string }, options: RequestOptions = {}): Promise<Transcript> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transcript', reply: 'data' }, input, options)
  }

  /** End a call. On one that has ended already nothing happens. Needs the scope `write`. */
  hangUpCall(input: { readonly id: string; readonly body?: HangUpCallBody | undefined }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/hangup', reply: 'data' }, input, options)
  }

  /** Download a recording by the signed address that the recording operation gave. */
  downloadMedia(input: { readonly token: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/media/{token}', reply: 'file' }, input, options)
  }

  /** List the events of the last 30 days, newest first, one line per event and endpoint. Needs the scope `read`. */
  listEvents(input: { readonly query?: ListEventsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Events>> {
    return this.send({ method: 'GET', path: '/v1/events', reply: 'list' }, input, options)
  }

  /** Read an event with its payload, rendered from the current state. Needs the scope `read`. */
  readEvent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Event> {
    return this.send({ method: 'GET', path: '/v1/events/{id}', reply: 'data' }, input, options)
  }

  /** Create an endpoint for test and live events; its signing secret is shown in the answer. Needs the scope `admin`. */
  createWebhook(input: { readonly body: CreateWebhookBody }, options: RequestOptions = {}): Promise<Webhook> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks', reply: 'data' }, input, options)
  }

  /** List the endpoints, newest first. Needs the scope `read`. */
  listWebhooks(input: { readonly query?: ListWebhooksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadWebhookResult>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks', reply: 'list' }, input, options)
  }

  /** Read an endpoint. Needs the scope `read`. */
  readWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Change an endpoint. Switched off, what waits for it is kept for 24 hours. Needs the scope `admin`. */
  updateWebhook(input: { readonly id: string; readonly body: UpdateWebhookBody }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Delete an endpoint; deliveries that wait for it fail. Needs the scope `admin`. */
  deleteWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/webhooks/{id}', reply: 'empty' }, input, options)
  }

  /** Read the current signing secret. Needs the scope `admin`. */
  readWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<WebhookSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}/secret', reply: 'data' }, input, options)
  }

  /** Make a new signing secret; for 24 hours deliveries are signed with both. Needs the scope `admin`. */
  rollWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<RollWebhookSecretResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/roll-secret', reply: 'data' }, input, options)
  }

  /** Send a signed webhook.test event now and tell what came of it. Counts for nothing. Needs the scope `admin`. */
  testWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestWebhookResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/test', reply: 'data' }, input, options)
  }

  /** Read the shared secret of endpoints older than secrets of their own; there are none here. Needs the scope `admin`. */
  readWebhookSigningSecret(options: RequestOptions = {}): Promise<WebhookSigningSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/signing-secret', reply: 'data' }, {}, options)
  }

  /** List deliveries of the last 30 days, newest first. Needs the scope `read`. */
  listWebhookDeliveries(input: { readonly query?: ListWebhookDeliveriesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<WebhookDelivery>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries', reply: 'list' }, input, options)
  }

  /** Read a delivery. Needs the scope `read`. */
  readWebhookDelivery(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries/{deliveryId}', reply: 'data' }, input, options)
  }

  /** Send the event of a delivery to the same endpoint again, as a new delivery. Needs the scope `admin`. */
  redeliverWebhook(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/deliveries/{deliveryId}/redeliver', reply: 'data' }, input, options)
  }

  /** Send an event again: to one endpoint, or to all that are enabled and want it now. Needs the scope `admin`. */
  redeliverEvent(input: { readonly id: string; readonly body?: RedeliverEventBody | undefined }, options: RequestOptions = {}): Promise<RedeliverEventResult> {
    return this.send({ method: 'POST', path: '/v1/events/{id}/redeliver', reply: 'data' }, input, options)
  }

  /** Read the request budget and the concurrent calls, used and allowed. Needs the scope `read`. */
  readLimits(options: RequestOptions = {}): Promise<Limits> {
    return this.send({ method: 'GET', path: '/v1/limits', reply: 'data' }, {}, options)
  }

  /** Read the organization the session acts for. */
  readOrganization(options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'GET', path: '/v1/organization', reply: 'data' }, {}, options)
  }

  /** Change name, billing data, robocall mode, calling hours or the campaigns’ share of agent calls. */
  updateOrganization(input: { readonly body: UpdateOrganizationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PATCH', path: '/v1/organization', reply: 'data' }, input, options)
  }

  /** Say what the organization’s calls are for; new agents begin with it. */
  setSenderClassification(input: { readonly body: SetSenderClassificationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PUT', path: '/v1/organization/sender-classification', reply: 'data' }, input, options)
  }

  /** List who changed what, staff included, newest first. */
  listAuditLog(input: { readonly query?: ListAuditLogQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<AuditLog>> {
    return this.send({ method: 'GET', path: '/v1/organization/audit-log', reply: 'list' }, input, options)
  }

  /** Read how far the verification of the organization is. */
  readVerification(options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'GET', path: '/v1/organization/verification', reply: 'data' }, {}, options)
  }

  /** Submit the organization for verification; possible again after a rejection. */
  submitVerification(input: { readonly body: SubmitVerificationBody }, options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'POST', path: '/v1/organization/verification', reply: 'data' }, input, options)
  }

  /** List the auto-dialler declarations made to access providers, newest first. */
  listRobocallDeclarations(input: { readonly query?: ListRobocallDeclarationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Robocalls>> {
    return this.send({ method: 'GET', path: '/v1/organization/robocall-declarations', reply: 'list' }, input, options)
  }

  /** Record a declaration made to an access provider; it can be withdrawn, not changed. */
  declareRobocalls(input: { readonly body: DeclareRobocallsBody }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations', reply: 'data' }, input, options)
  }

  /** Withdraw a declaration, for good. */
  withdrawRobocallDeclaration(input: { readonly id: string }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations/{id}/withdraw', reply: 'data' }, input, options)
  }

  /** List the sender ids of the 140 and 160 series, newest first. */
  listSenderIds(input: { readonly query?: ListSenderIdsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SenderId>> {
    return this.send({ method: 'GET', path: '/v1/organization/sender-ids', reply: 'list' }, input, options)
  }

  /** Submit a registered sender id for approval. */
  submitSenderId(input: { readonly body: SubmitSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/organization/sender-ids', reply: 'data' }, input, options)
  }

  /** List secrets, newest first; values are never returned. */
  listSecrets(input: { readonly query?: ListSecretsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Secret>> {
    return this.send({ method: 'GET', path: '/v1/secrets', reply: 'list' }, input, options)
  }

  /** Store a secret for tools and connections. */
  createSecret(input: { readonly body: CreateSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'POST', path: '/v1/secrets', reply: 'data' }, input, options)
  }

  /** Replace the value of a secret; what uses it sends the new one from its next request. */
  replaceSecret(input: { readonly id: string; readonly body: ReplaceSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'PUT', path: '/v1/secrets/{id}', reply: 'data' }, input, options)
  }

  /** Delete a secret that nothing uses. */
  deleteSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/secrets/{id}', reply: 'empty' }, input, options)
  }

  /** List connections to systems that tools call, newest first. */
  listConnections(input: { readonly query?: ListConnectionsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Connection>> {
    return this.send({ method: 'GET', path: '/v1/integrations/connections', reply: 'list' }, input, options)
  }

  /** Add a connection; its secret is sent as a bearer token. */
  createConnection(input: { readonly body: CreateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections', reply: 'data' }, input, options)
  }

  /** Rename a connection, or change its address or secret. */
  updateConnection(input: { readonly id: string; readonly body: UpdateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/connections/{id}', reply: 'data' }, input, options)
  }

  /** Delete a connection that no agent uses. */
  deleteConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/connections/{id}', reply: 'empty' }, input, options)
  }

  /** Ask the base URL, with the secret, whether it answers. */
  testConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestConnectionResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections/{id}/test', reply: 'data' }, input, options)
  }

  /** List all organizations, newest first. */
  listOrganizations(input: { readonly query?: ListOrganizationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Organizations>> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations', reply: 'list' }, input, options)
  }

  /** Read an organization, what it submitted and what it was granted; the look is logged. */
  readOrganizationAsStaff(input: { readonly id: string }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations/{id}', reply: 'data' }, input, options)
  }

  /** Grant or reject the verification that waits. */
  decideOrganizationVerification(input: { readonly id: string; readonly body: DecideOrganizationVerificationBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/verification-decision', reply: 'data' }, input, options)
  }

  /** Set request budget, concurrent calls, the agreed rate and the right to trunks; null is the default. */
  setOrganizationLimits(input: { readonly id: string; readonly body: SetOrganizationLimitsBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'PATCH', path: '/v1/staff/organizations/{id}/limits', reply: 'data' }, input, options)
  }

  /** Stop all new calls of an organization, or let them go on; calls in progress are not cut. */
  setKillSwitch(input: { readonly id: string; readonly body: SetKillSwitchBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/kill-switch', reply: 'data' }, input, options)
  }

  /** Approve or reject a submitted sender id, or revoke an approved one. */
  decideSenderId(input: { readonly id: string; readonly body: DecideSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/staff/sender-ids/{id}/decision', reply: 'data' }, input, options)
  }

  /** Make the simulated carrier call one of your test numbers. Needs the scope `write`. */
  createSandboxInboundCall(input: { readonly body: CreateSandboxInboundCallBody }, options: RequestOptions = {}): Promise<SandboxInboundCall> {
    return this.send({ method: 'POST', path: '/v1/sandbox/inbound-calls', reply: 'data' }, input, options)
  }

  /** This description */
  getOpenApi(options: RequestOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.send({ method: 'GET', path: '/v1/openapi.json', reply: 'bare' }, {}, options)
  }

  /** Whether the process is up */
  getHealth(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ok">
  }> {
    return this.send({ method: 'GET', path: '/v1/health', reply: 'bare' }, {}, options)
  }

  /** Whether it can take calls and requests now; 503 while it cannot */
  getReady(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ready">
    readonly checks: Readonly<Record<string, Open<"ok">>>
  }> {
    return this.send({ method: 'GET', path: '/v1/ready', reply: 'bare' }, {}, options)
  }

  /** Metrics in the text format of Prometheus, for the operator. */
  readMetrics(options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/metrics', reply: 'file' }, {}, options)
  }
}
