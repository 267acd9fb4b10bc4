import type { Environment } from '../../vocabulary/environment.ts'

/** A partner (a tenant) in one environment. */
export interface Branch {
  readonly branchId: number
  readonly environment: Environment
}
