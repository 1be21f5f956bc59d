// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.

import { HttpClient, type Page, type RequestOptions, type UploadBody } from '../http-client.js'
import type {
  AcceptInvitationBody,
  AdjustWalletBody,
  Agent,
  ApiKey,
  AuditLog,
  Call,
  ChangeMemberRoleBody,
  ChangePasswordBody,
  CheckEmailAvailableBody,
  ComplianceCheck,
  Connection,
  CreateAgentBody,
  CreateApiKeyBody,
  CreateConnectionBody,
  CreateSandboxInboundCallBody,
  CreateSecretBody,
  CreateVerificationUploadBody,
  CreateWebhookBody,
  DecideOrganizationVerificationBody,
  DecideSenderIdBody,
  DeclareRobocallsBody,
  Email,
  EmailAvailable,
  Event,
  Events,
  ExportCallsQuery,
  ForgotPasswordBody,
  HangUpCallBody,
  In,
  Invitation,
  InviteMemberBody,
  LeakedKeys,
  Ledger,
  Limits,
  ListAgentVersionsQuery,
  ListAgentsQuery,
  ListApiKeysQuery,
  ListAuditLogQuery,
  ListCallsQuery,
  ListConnectionsQuery,
  ListEventsQuery,
  ListInvitationsQuery,
  ListLedgerQuery,
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
  ReadWalletUsageQuery,
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
  SetWalletHoldBody,
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
  UpdateWalletSettingsBody,
  UpdateWebhookBody,
  Verification,
  VerificationUpload,
  VerifyEmailBody,
  Voices,
  Wallet,
  WalletUsage,
  Webhook,
  WebhookDelivery,
  WebhookSecret,
  WebhookSigningSecret,
  Whoami,
} from './types.js'

/** Every operation of the API as a method. */
export class Api extends HttpClient {
  /** Create an API key. The key gets at most the scopes that your role allows. The key itself appears only in this response. */
  createApiKey(input: { readonly body: CreateApiKeyBody }, options: RequestOptions = {}): Promise<ApiKey> {
    return this.send({ method: 'POST', path: '/v1/api-keys', reply: 'data' }, input, options)
  }

  /** List API keys. Keys of the current environment, newest first. Needs the scope `read`. */
  listApiKeys(input: { readonly query?: ListApiKeysQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadApiKeyResult>> {
    return this.send({ method: 'GET', path: '/v1/api-keys', reply: 'list' }, input, options)
  }

  /** Get an API key. Needs the scope `read`. */
  readApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'GET', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Remove scopes from an API key. Scopes cannot be added: create a new key instead. Needs the scope `admin`. */
  narrowApiKey(input: { readonly id: string; readonly body: NarrowApiKeyBody }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'PATCH', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Revoke an API key. Takes effect immediately. Needs the scope `admin`. */
  deleteApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/api-keys/{id}', reply: 'empty' }, input, options)
  }

  /** Replace an API key. Returns a new key. The old key stays valid for the requested overlap. Needs the scope `admin`. */
  rollApiKey(input: { readonly id: string; readonly body?: RollApiKeyBody | undefined }, options: RequestOptions = {}): Promise<RollApiKeyResult> {
    return this.send({ method: 'POST', path: '/v1/api-keys/{id}/roll', reply: 'data' }, input, options)
  }

  /** Identify the API key. Returns the organization, environment and effective scopes of the key that sent the request. Needs the scope `read`. */
  whoami(options: RequestOptions = {}): Promise<Whoami> {
    return this.send({ method: 'GET', path: '/v1/whoami', reply: 'data' }, {}, options)
  }

  /** Check whether an email address can sign up. */
  checkEmailAvailable(input: { readonly body: CheckEmailAvailableBody }, options: RequestOptions = {}): Promise<EmailAvailable> {
    return this.send({ method: 'POST', path: '/v1/signup/email-available', reply: 'data' }, input, options)
  }

  /** Create an account and its organization. The email address must be verified before the first sign-in. The password is set at the verification. A password sent here is kept only if the same browser verifies the address (cookie svc_signup). */
  signUp(input: { readonly body: SignUpBody }, options: RequestOptions = {}): Promise<Up> {
    return this.send({ method: 'POST', path: '/v1/signup', reply: 'data' }, input, options)
  }

  /** Verify an email address. Takes the token from the verification email and sets the password. The password may be missing only if it was sent at the sign-up from the same browser. */
  verifyEmail(input: { readonly body: VerifyEmailBody }, options: RequestOptions = {}): Promise<Email> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email', reply: 'data' }, input, options)
  }

  /** Resend the verification email. Sends nothing if the address has no account or is verified already. The response is the same in every case. */
  resendVerification(input: { readonly body: ResendVerificationBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email/resend', reply: 'data' }, input, options)
  }

  /** Sign in. Sets the cookies svc_session and svc_csrf. The cookie svc_device gives this browser sign-in attempts of its own. */
  logIn(input: { readonly body: LogInBody }, options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'POST', path: '/v1/auth/login', reply: 'data' }, input, options)
  }

  /** Sign out. Ends the current session. */
  logOut(options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/logout', reply: 'empty' }, {}, options)
  }

  /** Get the current session. Returns the signed-in user and the organizations that the user can act for. */
  readSession(options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'GET', path: '/v1/auth/session', reply: 'data' }, {}, options)
  }

  /** Request a password reset email. Sends an email only if the address has an account. The response is the same in every case. */
  forgotPassword(input: { readonly body: ForgotPasswordBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/password/forgot', reply: 'data' }, input, options)
  }

  /** Reset the password. Takes the token from the password reset email. Ends all sessions of the user. The cookie svc_device gives this browser sign-in attempts of its own. */
  resetPassword(input: { readonly body: ResetPasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/reset', reply: 'empty' }, input, options)
  }

  /** Change the password. Ends all other sessions of the user. */
  changePassword(input: { readonly body: ChangePasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/change', reply: 'empty' }, input, options)
  }

  /** List members. Newest first. */
  listMembers(input: { readonly query?: ListMembersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<MemberRole>> {
    return this.send({ method: 'GET', path: '/v1/organization/members', reply: 'list' }, input, options)
  }

  /** Change the role of a member. The scopes of the API keys that the member created change with the role immediately. Open invitations that the new role may not make are revoked. */
  changeMemberRole(input: { readonly userId: string; readonly body: ChangeMemberRoleBody }, options: RequestOptions = {}): Promise<MemberRole> {
    return this.send({ method: 'PATCH', path: '/v1/organization/members/{userId}', reply: 'data' }, input, options)
  }

  /** Remove a member. API keys that the member created lose all scopes, and open invitations of the member are revoked. */
  removeMember(input: { readonly userId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/organization/members/{userId}', reply: 'empty' }, input, options)
  }

  /** Invite a member by email. Replaces an earlier invitation to the same address. */
  inviteMember(input: { readonly body: InviteMemberBody }, options: RequestOptions = {}): Promise<Member> {
    return this.send({ method: 'POST', path: '/v1/organization/invitations', reply: 'data' }, input, options)
  }

  /** List open invitations. Invitations that were neither accepted nor revoked and have not expired, newest first. */
  listInvitations(input: { readonly query?: ListInvitationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Member>> {
    return this.send({ method: 'GET', path: '/v1/organization/invitations', reply: 'list' }, input, options)
  }

  /** Revoke an invitation. The mailed link becomes invalid. Only an owner revokes the invitation of an owner. */
  revokeInvitation(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/organization/invitations/{id}', reply: 'empty' }, input, options)
  }

  /** Accept an invitation. Takes the token from the invitation email. With a name and a password it also creates the account. */
  acceptInvitation(input: { readonly body: AcceptInvitationBody }, options: RequestOptions = {}): Promise<Invitation> {
    return this.send({ method: 'POST', path: '/v1/invitations/accept', reply: 'data' }, input, options)
  }

  /** Report leaked API keys. Revokes keys that were found in public and notifies the owners and admins by email. */
  reportLeakedKeys(input: { readonly body: ReportLeakedKeysBody }, options: RequestOptions = {}): Promise<LeakedKeys> {
    return this.send({ method: 'POST', path: '/v1/secret-scanning/reports', reply: 'data' }, input, options)
  }

  /** Create an agent. The agent starts as a draft. Needs the scope `write`. */
  createAgent(input: { readonly body: CreateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'POST', path: '/v1/agents', reply: 'data' }, input, options)
  }

  /** List agents. Newest first. Needs the scope `read`. */
  listAgents(input: { readonly query?: ListAgentsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Agent>> {
    return this.send({ method: 'GET', path: '/v1/agents', reply: 'list' }, input, options)
  }

  /** Get an agent. Includes the draft. Needs the scope `read`. */
  readAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Update the draft of an agent. Objects are merged, arrays are replaced. Needs the scope `write`. */
  updateAgent(input: { readonly id: string; readonly body: UpdateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PATCH', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Delete an agent. Fails while the agent is on a call. Unbinds the numbers of the agent; its versions and calls are kept. Needs the scope `write`. */
  deleteAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/agents/{id}', reply: 'empty' }, input, options)
  }

  /** Publish the draft of an agent. The draft becomes the next version, which the next call uses. Needs the scope `write`. */
  publishAgent(input: { readonly id: string; readonly body?: PublishAgentBody | undefined }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/publish', reply: 'data' }, input, options)
  }

  /** Roll back an agent to an earlier version. Publishes a copy of the earlier version and replaces the draft with it. The purpose does not change. Needs the scope `write`. */
  rollbackAgent(input: { readonly id: string; readonly body: RollbackAgentBody }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/rollback', reply: 'data' }, input, options)
  }

  /** Set the sender classification of an agent. Changes the purpose of calls in the draft. It applies once the draft is published. */
  setAgentSenderClassification(input: { readonly id: string; readonly body: SetAgentSenderClassificationBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PUT', path: '/v1/agents/{id}/sender-classification', reply: 'data' }, input, options)
  }

  /** List the versions of an agent. Newest first. The versions of a deleted agent are kept. Needs the scope `read`. */
  listAgentVersions(input: { readonly id: string; readonly query?: ListAgentVersionsQuery | undefined }, options: RequestOptions = {}): Promise<Page<PublishAgentResult>> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions', reply: 'list' }, input, options)
  }

  /** Get a version of an agent. Needs the scope `read`. */
  readAgentVersion(input: { readonly id: string; readonly version: string }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions/{version}', reply: 'data' }, input, options)
  }

  /** List voices. Each voice lists the speech recognition models that can be used with it. Needs the scope `read`. */
  listVoices(options: RequestOptions = {}): Promise<Page<Voices>> {
    return this.send({ method: 'GET', path: '/v1/voices', reply: 'list' }, {}, options)
  }

  /** List language models. Lists the models of the configured vendors. Needs the scope `read`. */
  listModels(options: RequestOptions = {}): Promise<Page<Models>> {
    return this.send({ method: 'GET', path: '/v1/models', reply: 'list' }, {}, options)
  }

  /** List numbers. Numbers of the environment of the key, newest first. Needs the scope `read`. */
  listNumbers(input: { readonly query?: ListNumbersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Number>> {
    return this.send({ method: 'GET', path: '/v1/numbers', reply: 'list' }, input, options)
  }

  /** Get a number. Needs the scope `read`. */
  readNumber(input: { readonly id: string }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'GET', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** Update a number. Sets the label, the agent, the media endpoint, the routing mode and call recording. Needs the scope `write`. */
  updateNumber(input: { readonly id: string; readonly body: UpdateNumberBody }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'PATCH', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** Place an outbound call. The compliance checks run before the call is dialled. Needs the scope `write`. */
  placeCall(input: { readonly body: PlaceCallBody }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls', reply: 'data', idempotent: true }, input, options)
  }

  /** List calls. Newest first. Needs the scope `read`. */
  listCalls(input: { readonly query?: ListCallsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Call>> {
    return this.send({ method: 'GET', path: '/v1/calls', reply: 'list' }, input, options)
  }

  /** Download calls as CSV. Newest first, with the filters of the list. More than 100,000 calls are refused with 422: narrow the filters. Objects are cells with JSON. Needs the scope `read`. */
  exportCalls(input: { readonly query?: ExportCallsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/calls/export.csv', reply: 'file' }, input, options)
  }

  /** Get a call. Needs the scope `read`. */
  readCall(input: { readonly id: string }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}', reply: 'data' }, input, options)
  }

  /** Get the download URL of a recording. The left channel is the caller, the right channel is the agent. Needs the scope `read`. */
  readRecording(input: { readonly id: string }, options: RequestOptions = {}): Promise<Recording> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/recording', reply: 'data' }, input, options)
  }

  /** Get the transcript of a call. Available during the call, too. Returns 404 as long as `hasTranscript` of the call is false. Needs the scope `read`. */
  readTranscript(input: { readonly id: string }, options: RequestOptions = {}): Promise<Transcript> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transcript', reply: 'data' }, input, options)
  }

  /** Hang up a call. Does nothing if the call has ended. Needs the scope `write`. */
  hangUpCall(input: { readonly id: string; readonly body?: HangUpCallBody | undefined }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/hangup', reply: 'data' }, input, options)
  }

  /** Download a recording. Takes the signed URL that "Get the download URL of a recording" returns. Answers 503 for a moment when the process that carried the call has not stored the recording yet. */
  downloadMedia(input: { readonly token: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/media/{token}', reply: 'file' }, input, options)
  }

  /** Get a compliance check. A check that ran before a call was dialled, with its outcome. The event `compliance.check.blocked` links to the check that refused the call. Needs the scope `read`. */
  readComplianceCheck(input: { readonly id: string }, options: RequestOptions = {}): Promise<ComplianceCheck> {
    return this.send({ method: 'GET', path: '/v1/compliance/checks/{id}', reply: 'data' }, input, options)
  }

  /** List events. Events of the last 30 days, newest first. One item per event and webhook endpoint. Needs the scope `read`. */
  listEvents(input: { readonly query?: ListEventsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Events>> {
    return this.send({ method: 'GET', path: '/v1/events', reply: 'list' }, input, options)
  }

  /** Get an event. The payload shows the current state of the subject. Needs the scope `read`. */
  readEvent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Event> {
    return this.send({ method: 'GET', path: '/v1/events/{id}', reply: 'data' }, input, options)
  }

  /** Create a webhook endpoint. The endpoint receives test and live events. The response includes the signing secret. Needs the scope `admin`. */
  createWebhook(input: { readonly body: CreateWebhookBody }, options: RequestOptions = {}): Promise<Webhook> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks', reply: 'data' }, input, options)
  }

  /** List webhook endpoints. Newest first. Needs the scope `read`. */
  listWebhooks(input: { readonly query?: ListWebhooksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadWebhookResult>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks', reply: 'list' }, input, options)
  }

  /** Get a webhook endpoint. Needs the scope `read`. */
  readWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Update a webhook endpoint. Pending deliveries of a disabled endpoint are kept for 24 hours. Needs the scope `admin`. */
  updateWebhook(input: { readonly id: string; readonly body: UpdateWebhookBody }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Delete a webhook endpoint. Pending deliveries to the endpoint fail. Needs the scope `admin`. */
  deleteWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/webhooks/{id}', reply: 'empty' }, input, options)
  }

  /** Get the signing secret of a webhook endpoint. Needs the scope `admin`. */
  readWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<WebhookSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}/secret', reply: 'data' }, input, options)
  }

  /** Replace the signing secret of a webhook endpoint. For 24 hours deliveries carry two signatures: one with the new and one with the previous secret. Needs the scope `admin`. */
  rollWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<RollWebhookSecretResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/roll-secret', reply: 'data' }, input, options)
  }

  /** Send a test event to a webhook endpoint. Sends a signed webhook.test event immediately and returns the result. The result does not count as a success or failure of the endpoint. Needs the scope `admin`. */
  testWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestWebhookResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/test', reply: 'data' }, input, options)
  }

  /** Get the shared signing secret. Only for endpoints created before endpoints had their own secrets. This service has none, so the response is always 404. Needs the scope `admin`. */
  readWebhookSigningSecret(options: RequestOptions = {}): Promise<WebhookSigningSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/signing-secret', reply: 'data' }, {}, options)
  }

  /** List webhook deliveries. Deliveries of the last 30 days, newest first. Needs the scope `read`. */
  listWebhookDeliveries(input: { readonly query?: ListWebhookDeliveriesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<WebhookDelivery>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries', reply: 'list' }, input, options)
  }

  /** Get a webhook delivery. Needs the scope `read`. */
  readWebhookDelivery(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries/{deliveryId}', reply: 'data' }, input, options)
  }

  /** Repeat a webhook delivery. Sends the event to the same endpoint again, as a new delivery. Needs the scope `admin`. */
  redeliverWebhook(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/deliveries/{deliveryId}/redeliver', reply: 'data' }, input, options)
  }

  /** Redeliver an event. Sends the event to the given endpoint, or to all enabled endpoints that are subscribed to it. Needs the scope `admin`. */
  redeliverEvent(input: { readonly id: string; readonly body?: RedeliverEventBody | undefined }, options: RequestOptions = {}): Promise<RedeliverEventResult> {
    return this.send({ method: 'POST', path: '/v1/events/{id}/redeliver', reply: 'data' }, input, options)
  }

  /** Get the wallet. The test environment shows a fixed simulated balance. Needs the scope `read`. */
  readWallet(options: RequestOptions = {}): Promise<Wallet> {
    return this.send({ method: 'GET', path: '/v1/wallet', reply: 'data' }, {}, options)
  }

  /** Get what was spent and added in a period. A reversal counts in the period and the category of the entry that it reverses. With `agent_id` only calls are counted. Needs the scope `read`. */
  readWalletUsage(input: { readonly query?: ReadWalletUsageQuery | undefined } = {}, options: RequestOptions = {}): Promise<WalletUsage> {
    return this.send({ method: 'GET', path: '/v1/wallet/usage', reply: 'data' }, input, options)
  }

  /** List the ledger. Newest first. The balance is the sum of all entries. The test environment has none. Needs the scope `read`. */
  listLedger(input: { readonly query?: ListLedgerQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Ledger>> {
    return this.send({ method: 'GET', path: '/v1/wallet/ledger', reply: 'list' }, input, options)
  }

  /** Set the low-balance threshold. The event `wallet.balance.low` is sent once when the balance falls below the threshold. */
  updateWalletSettings(input: { readonly body: UpdateWalletSettingsBody }, options: RequestOptions = {}): Promise<Wallet> {
    return this.send({ method: 'PATCH', path: '/v1/wallet/settings', reply: 'data' }, input, options)
  }

  /** Get the request budget and the concurrent call limits. Shows how much of each is in use. Needs the scope `read`. */
  readLimits(options: RequestOptions = {}): Promise<Limits> {
    return this.send({ method: 'GET', path: '/v1/limits', reply: 'data' }, {}, options)
  }

  /** Get the organization. Returns the organization that the session acts for. */
  readOrganization(options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'GET', path: '/v1/organization', reply: 'data' }, {}, options)
  }

  /** Update the organization. Sets the name, billing details, robocall mode, calling hours and the share of agent calls that campaigns may use. */
  updateOrganization(input: { readonly body: UpdateOrganizationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PATCH', path: '/v1/organization', reply: 'data' }, input, options)
  }

  /** Set the sender classification of the organization. States the purpose of the calls. New agents start with this purpose. */
  setSenderClassification(input: { readonly body: SetSenderClassificationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PUT', path: '/v1/organization/sender-classification', reply: 'data' }, input, options)
  }

  /** List the audit log. Changes by members and by staff, newest first. */
  listAuditLog(input: { readonly query?: ListAuditLogQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<AuditLog>> {
    return this.send({ method: 'GET', path: '/v1/organization/audit-log', reply: 'list' }, input, options)
  }

  /** Get the verification status of the organization. */
  readVerification(options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'GET', path: '/v1/organization/verification', reply: 'data' }, {}, options)
  }

  /** Submit the organization for verification. Can be repeated after a rejection. */
  submitVerification(input: { readonly body: SubmitVerificationBody }, options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'POST', path: '/v1/organization/verification', reply: 'data' }, input, options)
  }

  /** Get an address to upload a verification document to. Send the file to the returned address, then name `uploadId` in `documents` of the submission. A file that is in no submission after a day is deleted. Only staff can read the documents. */
  createVerificationUpload(input: { readonly body: CreateVerificationUploadBody }, options: RequestOptions = {}): Promise<VerificationUpload> {
    return this.send({ method: 'POST', path: '/v1/organization/verification/upload-url', reply: 'data' }, input, options)
  }

  /** Send a file to a signed address. Takes the URL and the headers of an upload-url operation. The first bytes must be those of a file of the stated type. An address takes one file. */
  putUpload(input: { readonly token: string; readonly body: UploadBody; readonly contentType: "application/pdf" | "image/jpeg" | "image/png" }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'PUT', path: '/v1/uploads/{token}', reply: 'empty', upload: true }, input, options)
  }

  /** List robocall declarations. Declarations made to access providers, newest first. */
  listRobocallDeclarations(input: { readonly query?: ListRobocallDeclarationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Robocalls>> {
    return this.send({ method: 'GET', path: '/v1/organization/robocall-declarations', reply: 'list' }, input, options)
  }

  /** Record a robocall declaration. Records a declaration made to an access provider. It can be withdrawn but not changed. */
  declareRobocalls(input: { readonly body: DeclareRobocallsBody }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations', reply: 'data' }, input, options)
  }

  /** Withdraw a robocall declaration. Cannot be undone. */
  withdrawRobocallDeclaration(input: { readonly id: string }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations/{id}/withdraw', reply: 'data' }, input, options)
  }

  /** List sender IDs. Sender IDs of the 140 and 160 series, newest first. */
  listSenderIds(input: { readonly query?: ListSenderIdsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SenderId>> {
    return this.send({ method: 'GET', path: '/v1/organization/sender-ids', reply: 'list' }, input, options)
  }

  /** Submit a sender ID for approval. The sender ID must be registered with the access provider. */
  submitSenderId(input: { readonly body: SubmitSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/organization/sender-ids', reply: 'data' }, input, options)
  }

  /** List secrets. Newest first. Values are never returned. */
  listSecrets(input: { readonly query?: ListSecretsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Secret>> {
    return this.send({ method: 'GET', path: '/v1/secrets', reply: 'list' }, input, options)
  }

  /** Create a secret. Tools, connections and media endpoints can send the secret to its hosts. At least one host is needed. */
  createSecret(input: { readonly body: CreateSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'POST', path: '/v1/secrets', reply: 'data' }, input, options)
  }

  /** Replace the value or the hosts of a secret. Tools, connections and media endpoints follow the change from their next request. A secret of an earlier release gets the hosts that it was sent to before the update unless the body names hosts. */
  replaceSecret(input: { readonly id: string; readonly body: ReplaceSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'PUT', path: '/v1/secrets/{id}', reply: 'data' }, input, options)
  }

  /** Delete a secret. Fails while the secret is in use. */
  deleteSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/secrets/{id}', reply: 'empty' }, input, options)
  }

  /** List connections. Connections to the systems that tools call, newest first. */
  listConnections(input: { readonly query?: ListConnectionsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Connection>> {
    return this.send({ method: 'GET', path: '/v1/integrations/connections', reply: 'list' }, input, options)
  }

  /** Create a connection. The secret is sent as a bearer token to the base URL and to tools below it. Its host must be one of the hosts of the secret. */
  createConnection(input: { readonly body: CreateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections', reply: 'data' }, input, options)
  }

  /** Update a connection. Sets the name, the base URL and the secret. */
  updateConnection(input: { readonly id: string; readonly body: UpdateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/connections/{id}', reply: 'data' }, input, options)
  }

  /** Delete a connection. Fails while an agent uses the connection. */
  deleteConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/connections/{id}', reply: 'empty' }, input, options)
  }

  /** Test a connection. Sends a request with the secret to the base URL and reports the response. */
  testConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestConnectionResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections/{id}/test', reply: 'data' }, input, options)
  }

  /** List organizations. All organizations, newest first. */
  listOrganizations(input: { readonly query?: ListOrganizationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Organizations>> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations', reply: 'list' }, input, options)
  }

  /** Get an organization. Includes the verification submission and the granted limits. The access is recorded in the audit log. */
  readOrganizationAsStaff(input: { readonly id: string }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations/{id}', reply: 'data' }, input, options)
  }

  /** Verify or reject an organization. Decides the pending verification submission. */
  decideOrganizationVerification(input: { readonly id: string; readonly body: DecideOrganizationVerificationBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/verification-decision', reply: 'data' }, input, options)
  }

  /** Set the limits of an organization. Sets the request budget, concurrent calls, the agreed rate and the right to create trunks. Null restores the default. */
  setOrganizationLimits(input: { readonly id: string; readonly body: SetOrganizationLimitsBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'PATCH', path: '/v1/staff/organizations/{id}/limits', reply: 'data' }, input, options)
  }

  /** Set the kill switch of an organization. Blocks or allows new calls. Calls in progress continue. */
  setKillSwitch(input: { readonly id: string; readonly body: SetKillSwitchBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/kill-switch', reply: 'data' }, input, options)
  }

  /** Approve, reject or revoke a sender ID. */
  decideSenderId(input: { readonly id: string; readonly body: DecideSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/staff/sender-ids/{id}/decision', reply: 'data' }, input, options)
  }

  /** Change the balance of an organization. Adds to the balance or takes from it. A reference is used once in an organization, so that a repeated request moves no money. The balance never falls below what is held. */
  adjustWallet(input: { readonly id: string; readonly body: AdjustWalletBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/wallet/adjustments', reply: 'data' }, input, options)
  }

  /** Set the hold on the wallet of an organization. While it is on hold no live call is placed and nothing is bought. Calls in progress continue while the balance covers them. */
  setWalletHold(input: { readonly id: string; readonly body: SetWalletHoldBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'PUT', path: '/v1/staff/organizations/{id}/wallet/hold', reply: 'data' }, input, options)
  }

  /** Place a simulated inbound call. The simulated carrier calls one of your test numbers. `callId` is the call as `GET /v1/calls/{id}` returns it. A call that the service refuses, for example because the number has no published agent, results in 422. Needs the scope `write`. */
  createSandboxInboundCall(input: { readonly body: CreateSandboxInboundCallBody }, options: RequestOptions = {}): Promise<SandboxInboundCall> {
    return this.send({ method: 'POST', path: '/v1/sandbox/inbound-calls', reply: 'data' }, input, options)
  }

  /** Get the OpenAPI description. */
  getOpenApi(options: RequestOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.send({ method: 'GET', path: '/v1/openapi.json', reply: 'bare' }, {}, options)
  }

  /** Check that the process is running. */
  getHealth(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ok">
  }> {
    return this.send({ method: 'GET', path: '/v1/health', reply: 'data' }, {}, options)
  }

  /** Check that the service is ready. Returns 503 while the service cannot take calls and requests. */
  getReady(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ready">
    readonly checks: Readonly<Record<string, Open<"ok">>>
  }> {
    return this.send({ method: 'GET', path: '/v1/ready', reply: 'data' }, {}, options)
  }

  /** Get metrics. Metrics for the operator, in the Prometheus text format. */
  readMetrics(options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/metrics', reply: 'file' }, {}, options)
  }
}
