//! An exchange allocates nothing.

use pelago_halo::{Field, Halo, Method, Nodes, Plan, Route, Settings, Template};
use pelago_test_support::counting::{CountingAllocator, allocations};
use pelago_test_support::threads::{Platform, run};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn exchanges_allocate_nothing() {
    for method in Method::ALL {
        for route in [Route::Direct, Route::Forwarded] {
            run(Platform::Mapped, 4, |world| {
                let template = Template::new([9, 8, 7], Nodes::new([2, 1, 2], [true, true, false]).unwrap()).unwrap();
                let array = template.array().shadow([[1, 2], [1, 1], [1, 0]]).unwrap();
                let mut fields: Vec<_> = (0..3).map(|_| Field::<f64, 3>::new(world, &array).unwrap()).collect();
                let settings = Settings { route: Some(route), ..Settings::new(Halo::Corners).with_method(method) };
                let mut plan = Plan::build(world, &mut fields, &settings).unwrap();
                plan.reflect(&mut fields).unwrap();
                let before = allocations();
                for _ in 0..100 {
                    plan.start(&mut fields).unwrap();
                    plan.wait(&mut fields).unwrap();
                }
                assert_eq!(allocations() - before, 0, "{method} {route}");
                world.barrier().unwrap();
            });
        }
    }
}
