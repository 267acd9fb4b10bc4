/**
 * The test runner learns which test a call of `test()` and an uncaught error belong to from async_hooks: of every promise that anybody makes it notes the beginning and
 * the end, which costs a few hundredths of the processor time of a batch. An AsyncLocalStorage tells the same for less. Loaded before the runner, with `--require`;
 * without it tests do the same and take longer.
 */
const hooks = require('node:async_hooks')
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = hooks

/** The number of the test, as of any AsyncResource, in whose scope something runs. */
const scope = new AsyncLocalStorage()
const { runInAsyncScope } = AsyncResource.prototype

AsyncResource.prototype.runInAsyncScope = function (work, on, ...words) {
  const inScope = (...given) => scope.run(this.asyncId(), () => Reflect.apply(work, on, given))
  return Reflect.apply(runInAsyncScope, this, [inScope, undefined, ...words])
}
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false })
hooks.executionAsyncId = () => scope.getStore() ?? executionAsyncId()
